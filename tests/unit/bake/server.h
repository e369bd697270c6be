/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server on loopback, one thread, that misbehaves as its URLs say:
 *
 *	/good/N     N bytes, ranges honoured        /cut/N      half of what was asked for, then the connection ends
 *	/norange/N  N bytes, ranges ignored         /once/N     503 at the first request, then as good
 *	/long/N     N + 1000 bytes                  /stall/N    some bytes, then silence
 *	/missing    404                             /busy       503 always
 * Byte i of every file is SERVER_BYTE(i).
 */
#ifndef KILN_TESTS_BAKE_SERVER_H
#define KILN_TESTS_BAKE_SERVER_H

#define SERVER_BYTE(i) ((unsigned char)((i)*7 + (i) / 251))
#define SERVER_LOG_MAX 64

struct server;

struct server *server_start(void);
void server_stop(struct server *s);
int server_port(const struct server *s);
/* The offset that the n'th request asked for (0: from the start); -1: there were fewer. */
long server_offset(const struct server *s, int n);
int server_requests(const struct server *s);

#endif
