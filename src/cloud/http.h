/* SPDX-License-Identifier: MIT */
/*
 * HTTP downloads, many at a time, on one thread. libcurl is opened when the first http is made, so that verbs that fetch
 * nothing do not pay for its start-up. Server certificates are always verified; only http, https and file URLs are
 * taken, and a redirect only to http or https. The proxy variables (http_proxy, https_proxy, no_proxy) are honoured.
 * Thread rule: an http belongs to one thread; several may be in use at once.
 */
#ifndef KILN_CLOUD_HTTP_H
#define KILN_CLOUD_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct http;

struct http_get {
	const char *url;   /* borrowed until it is done */
	int64_t offset;    /* bytes that are here already: only the rest is asked for */
	uint32_t stall_ms; /* given up when less than 1 KiB/s comes for so long; 0: 30 s */
	/* Takes n bytes; non-zero aborts the download. Called in http_wait. */
	int (*body)(void *arg, const void *data, size_t n);
	void *arg; /* also names the request when it is done */
};

enum http_outcome {
	HTTP_DONE,      /* every byte came */
	HTTP_ABORTED,   /* body() refused */
	HTTP_NO_RESUME, /* the server does not continue at the offset: ask again from 0 */
	HTTP_TRY_AGAIN, /* may succeed later: no connection, cut off, stalled, 408, 429, 5xx */
	HTTP_REFUSED,   /* will not succeed: 404, a bad certificate, not a URL */
};

struct http_end {
	void *arg; /* of the request */
	enum http_outcome outcome;
	long status;   /* HTTP status, 0 when none came */
	char why[160]; /* one line; "" when done */
};

/* parallel: connections at most. -ELIBACC: libcurl cannot be loaded, with what to install; -ENOMEM. */
int http_new(unsigned parallel, struct http **ret, struct err *e);
/* Ends what still runs without calling body again. */
void http_free(struct http *h);
AUTO_DEFINE(http)

/* Begins a download; copies *get. -ENOMEM. */
int http_start(struct http *h, const struct http_get *get, struct err *e);
/* Moves data for at most timeout_ms. 1: a request ended, *ret tells which; 0: none did. -EIO: libcurl itself failed. */
int http_wait(struct http *h, unsigned timeout_ms, struct http_end *ret, struct err *e);

#endif
