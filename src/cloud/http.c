/* SPDX-License-Identifier: MIT */
#include "cloud/http.h"

#include <stdio.h>
#include <string.h>

#include "cloud/http_curl.h"

#define HTTP_STALL_DEFAULT_MS 30000u
#define HTTP_CONNECT_MS 20000L
#define HTTP_REDIRECTS_MAX 5L

struct http_transfer {
	struct http *http;
	struct http_get get;
	CURL *easy;
	bool refused; /* body() said no */
	struct http_transfer *next;
};

struct http {
	const struct http_curl *curl;
	CURLM *multi;
	struct http_transfer *transfers;
};

int http_new(unsigned parallel, struct http **ret, struct err *e)
{
	const struct http_curl *curl;
	int rc = http_curl_open(&curl, e);
	if (rc < 0)
		return rc;

	AUTO(http) h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(e, -ENOMEM, "out of memory for downloads");
	h->curl = curl;
	h->multi = curl->multi_init();
	if (!h->multi)
		return err_set(e, -ENOMEM, "out of memory for downloads");
	curl->multi_setopt(h->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)parallel);
	*ret = steal(h);
	return 0;
}

static void transfer_free(struct http *h, struct http_transfer *t)
{
	for (struct http_transfer **at = &h->transfers; *at; at = &(*at)->next) {
		if (*at == t) {
			*at = t->next;
			break;
		}
	}
	if (t->easy) {
		h->curl->multi_remove_handle(h->multi, t->easy);
		h->curl->easy_cleanup(t->easy);
	}
	free(t);
}

void http_free(struct http *h)
{
	if (!h)
		return;
	while (h->transfers)
		transfer_free(h, h->transfers);
	if (h->multi)
		h->curl->multi_cleanup(h->multi);
	free(h);
}

static size_t transfer_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_transfer *t = arg;

	if (t->get.body(t->get.arg, data, size * n) == 0)
		return size * n;
	t->refused = true;
	return 0; /* fewer than given: libcurl ends the transfer with CURLE_WRITE_ERROR */
}

static void transfer_set_options(const struct http_curl *c, struct http_transfer *t)
{
	uint32_t stall_ms = t->get.stall_ms ? t->get.stall_ms : HTTP_STALL_DEFAULT_MS;

	c->easy_setopt(t->easy, CURLOPT_URL, t->get.url);
	c->easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	c->easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, transfer_body);
	c->easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	c->easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	c->easy_setopt(t->easy, CURLOPT_FAILONERROR, 1L);
	c->easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 1L);
	c->easy_setopt(t->easy, CURLOPT_MAXREDIRS, HTTP_REDIRECTS_MAX);
	c->easy_setopt(t->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
	c->easy_setopt(t->easy, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	c->easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, HTTP_CONNECT_MS);
	c->easy_setopt(t->easy, CURLOPT_LOW_SPEED_LIMIT, 1024L);
	c->easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME, (long)((stall_ms + 999) / 1000));
	c->easy_setopt(t->easy, CURLOPT_USERAGENT, "kiln/" KILN_VERSION);
	if (t->get.offset > 0)
		c->easy_setopt(t->easy, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->get.offset);
}

int http_start(struct http *h, const struct http_get *get, struct err *e)
{
	struct http_transfer *t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, -ENOMEM, "out of memory for a download");
	t->http = h;
	t->get = *get;
	t->easy = h->curl->easy_init();
	t->next = h->transfers;
	h->transfers = t;
	if (t->easy) {
		transfer_set_options(h->curl, t);
		if (h->curl->multi_add_handle(h->multi, t->easy) == CURLM_OK)
			return 0;
	}
	transfer_free(h, t);
	return err_set(e, -ENOMEM, "out of memory for a download");
}

static enum http_outcome outcome_of(const struct http_transfer *t, CURLcode code, long status)
{
	switch (code) {
	case CURLE_OK:
		return HTTP_DONE;
	case CURLE_WRITE_ERROR:
		return t->refused ? HTTP_ABORTED : HTTP_TRY_AGAIN;
	case CURLE_RANGE_ERROR:
	case CURLE_BAD_DOWNLOAD_RESUME:
		return HTTP_NO_RESUME;
	case CURLE_HTTP_RETURNED_ERROR:
		if (status == 416 && t->get.offset > 0)
			return HTTP_NO_RESUME;
		return status == 408 || status == 429 || status >= 500 ? HTTP_TRY_AGAIN : HTTP_REFUSED;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return HTTP_TRY_AGAIN;
	default:
		return HTTP_REFUSED;
	}
}

static void transfer_end(struct http *h, struct http_transfer *t, CURLcode code, struct http_end *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->arg = t->get.arg;
	h->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &ret->status);
	ret->outcome = outcome_of(t, code, ret->status);
	if (code == CURLE_HTTP_RETURNED_ERROR)
		snprintf(ret->why, sizeof(ret->why), "the server answered %ld", ret->status);
	else if (code == CURLE_PARTIAL_FILE)
		snprintf(ret->why, sizeof(ret->why), "the connection was cut before the end");
	else if (code != CURLE_OK)
		snprintf(ret->why, sizeof(ret->why), "%s", h->curl->easy_strerror(code));
	transfer_free(h, t);
}

int http_wait(struct http *h, unsigned timeout_ms, struct http_end *ret, struct err *e)
{
	/* Twice at most: first what is there already, then once more after waiting for the network. */
	for (int round = 0; round < 2; round++) {
		int running = 0, left = 0;
		CURLMcode m = h->curl->multi_perform(h->multi, &running);
		if (m != CURLM_OK)
			return err_set(e, -EIO, "libcurl: %s", h->curl->multi_strerror(m));
		for (CURLMsg *msg; (msg = h->curl->multi_info_read(h->multi, &left));) {
			struct http_transfer *t = NULL;
			if (msg->msg != CURLMSG_DONE)
				continue;
			h->curl->easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
			transfer_end(h, t, msg->data.result, ret);
			return 1;
		}
		if (round == 0) {
			m = h->curl->multi_poll(h->multi, NULL, 0, (int)timeout_ms, NULL);
			if (m != CURLM_OK)
				return err_set(e, -EIO, "libcurl: %s", h->curl->multi_strerror(m));
		}
	}
	return 0;
}
