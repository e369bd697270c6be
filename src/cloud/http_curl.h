/* SPDX-License-Identifier: MIT */
/* libcurl's functions, opened at run time. The macros of its header that check argument types are kept out. */
#ifndef KILN_CLOUD_HTTP_CURL_H
#define KILN_CLOUD_HTTP_CURL_H

#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#include "base/err.h"

/* name, return type, arguments */
#define HTTP_CURL_SYMBOLS(X)                                                  \
	X(global_init, CURLcode, (long))                                      \
	X(easy_init, CURL *, (void))                                          \
	X(easy_setopt, CURLcode, (CURL *, CURLoption, ...))                   \
	X(easy_getinfo, CURLcode, (CURL *, CURLINFO, ...))                    \
	X(easy_strerror, const char *, (CURLcode))                            \
	X(easy_cleanup, void, (CURL *))                                       \
	X(multi_init, CURLM *, (void))                                        \
	X(multi_setopt, CURLMcode, (CURLM *, CURLMoption, ...))               \
	X(multi_add_handle, CURLMcode, (CURLM *, CURL *))                     \
	X(multi_remove_handle, CURLMcode, (CURLM *, CURL *))                  \
	X(multi_perform, CURLMcode, (CURLM *, int *))                         \
	X(multi_poll, CURLMcode, (CURLM *, void *, unsigned int, int, int *)) \
	X(multi_info_read, CURLMsg *, (CURLM *, int *))                       \
	X(multi_strerror, const char *, (CURLMcode))                          \
	X(multi_cleanup, CURLMcode, (CURLM *))

struct http_curl {
#define X(name, type, args) type(*name) args;
	HTTP_CURL_SYMBOLS(X)
#undef X
};

/* Opens libcurl once per process and starts it; gives its functions. -ELIBACC with what to install.
 * Thread rule: any thread. */
int http_curl_open(const struct http_curl **ret, struct err *e);

#endif
