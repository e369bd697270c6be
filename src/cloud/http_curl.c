/* SPDX-License-Identifier: MIT */
#include "cloud/http_curl.h"

#include <pthread.h>

#include "base/dynlib.h"
#include "base/own.h"

static struct http_curl curl;
static pthread_mutex_t curl_lock = PTHREAD_MUTEX_INITIALIZER;
static void *curl_handle; /* kept for life: libcurl cannot be unloaded once it has started */

int http_curl_open(const struct http_curl **ret, struct err *e)
{
	static const char *const sonames[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so", NULL };
	const struct dynlib_symbol symbols[] = {
#define X(name, type, args) { "curl_" #name, (void **)&curl.name, true },
		HTTP_CURL_SYMBOLS(X)
#undef X
	};
	int rc = 0;

	pthread_mutex_lock(&curl_lock);
	if (!curl_handle) {
		void *handle = NULL;
		rc = dynlib_open(sonames, symbols, COUNT_OF(symbols), "install it with: apt-get install libcurl4",
				 &handle, e);
		if (rc == 0 && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
			rc = err_set(e, -ELIBACC, "libcurl could not start");
		if (rc == 0)
			curl_handle = handle;
	}
	pthread_mutex_unlock(&curl_lock);
	if (rc == 0)
		*ret = &curl;
	return rc;
}
