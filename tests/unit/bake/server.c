/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct server {
	int fd;
	int port;
	int wake[2]; /* closing the second end ends everything that waits */
	pthread_t thread;
	atomic_int requests;
	long offsets[SERVER_LOG_MAX];
	bool refused_once;
};

static bool send_all(int fd, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		data += sent;
		n -= (size_t)sent;
	}
	return true;
}

static void send_bytes(int fd, long from, long to)
{
	for (long i = from; i < to; i++) {
		char c = (char)SERVER_BYTE(i);
		if (!send_all(fd, &c, 1))
			return;
	}
}

static void send_status(int fd, const char *status)
{
	char head[128];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	send_all(fd, head, (size_t)n);
}

static void send_file(const struct server *s, int fd, const char *kind, long size, long offset)
{
	char head[256];
	long from = strcmp(kind, "norange") == 0 ? 0 : offset;
	long end = strcmp(kind, "long") == 0 ? size + 1000 : size;
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Length: %ld\r\nConnection: close\r\n",
			 from > 0 ? "206 Partial Content" : "200 OK", end - from);
	if (from > 0)
		n += snprintf(head + n, sizeof(head) - (size_t)n, "Content-Range: bytes %ld-%ld/%ld\r\n", from, end - 1,
			      end);
	n += snprintf(head + n, sizeof(head) - (size_t)n, "\r\n");
	if (!send_all(fd, head, (size_t)n))
		return;
	if (strcmp(kind, "cut") == 0)
		end = from + (end - from) / 2;
	if (strcmp(kind, "stall") == 0)
		end = from + (end - from) / 4;
	send_bytes(fd, from, end);
	struct pollfd hold[] = { { .fd = s->wake[0], .events = POLLIN }, { .fd = fd, .events = POLLRDHUP } };
	if (strcmp(kind, "stall") == 0)
		poll(hold, 2, 30000); /* until the client gives up or the test is over */
}

static void answer(struct server *s, int fd)
{
	char request[4096], kind[32] = "";
	size_t len = 0;
	long size = 0, offset = 0;
	while (len < sizeof(request) - 1) {
		ssize_t n = recv(fd, request + len, sizeof(request) - 1 - len, 0);
		if (n <= 0)
			return;
		len += (size_t)n;
		request[len] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	sscanf(request, "GET /%31[a-z]/%ld", kind, &size);
	const char *range = strcasestr(request, "\r\nRange: bytes=");
	if (range)
		offset = strtol(range + 15, NULL, 10);
	int number = atomic_load(&s->requests);
	if (number < SERVER_LOG_MAX)
		s->offsets[number] = offset;
	atomic_store(&s->requests, number + 1);
	if (strcmp(kind, "missing") == 0)
		send_status(fd, "404 Not Found");
	else if (strcmp(kind, "busy") == 0 || (strcmp(kind, "once") == 0 && !s->refused_once))
		send_status(fd, "503 Service Unavailable");
	else
		send_file(s, fd, kind, size, offset);
	s->refused_once = true;
}

static void *serve(void *arg)
{
	struct server *s = arg;
	for (;;) {
		struct pollfd fds[] = { { .fd = s->fd, .events = POLLIN }, { .fd = s->wake[0], .events = POLLIN } };
		if (poll(fds, 2, -1) < 0 || fds[1].revents)
			return NULL;
		int fd = accept(s->fd, NULL, NULL);
		if (fd < 0)
			continue;
		answer(s, fd);
		shutdown(fd, SHUT_RDWR);
		close(fd);
	}
}

struct server *server_start(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct server *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(s->fd, 64) < 0 ||
	    getsockname(s->fd, (struct sockaddr *)&at, &len) < 0 || pipe(s->wake) < 0 ||
	    pthread_create(&s->thread, NULL, serve, s) != 0) {
		free(s);
		return NULL;
	}
	s->port = ntohs(at.sin_port);
	return s;
}

void server_stop(struct server *s)
{
	close(s->wake[1]);
	pthread_join(s->thread, NULL);
	close(s->wake[0]);
	close(s->fd);
	free(s);
}

int server_port(const struct server *s)
{
	return s->port;
}

int server_requests(const struct server *s)
{
	return atomic_load(&s->requests);
}

long server_offset(const struct server *s, int n)
{
	return n < server_requests(s) && n < SERVER_LOG_MAX ? s->offsets[n] : -1;
}
