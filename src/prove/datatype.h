/* SPDX-License-Identifier: MIT */
/*
 * Element types and reductions, as rows: how to make inputs whose reduction is known exactly, how to reduce, how to check.
 *
 * Inputs depend on the round (seed), the rank and the element, so stale, swapped or shifted data does not pass. They are
 * chosen so that every order of reducing gives the same, exactly representable result: checking needs no tolerance.
 */
#ifndef KILN_PROVE_DATATYPE_H
#define KILN_PROVE_DATATYPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* nccl-tests' order. */
enum reduction { REDUCTION_SUM, REDUCTION_PROD, REDUCTION_MAX, REDUCTION_MIN, REDUCTION_AVG };
#define REDUCTION_COUNT 5

struct pattern {
	uint64_t seed;
	uint32_t ranks;
	enum reduction op;
};

struct datatype {
	const char *name;
	size_t bytes; /* of one element */
	/* What `rank` contributes. */
	void (*fill)(void *to, size_t count, const struct pattern *p, uint32_t rank);
	/* to[i] = a[i] op b[i]; to may be a or b, and no other overlap. AVG adds. */
	void (*combine)(enum reduction op, void *to, const void *a, const void *b, size_t count);
	/* What is left once all ranks are in: AVG divides. */
	void (*finish)(enum reduction op, void *to, size_t count, uint32_t ranks);
	/* How many elements differ from the reduction of all ranks' contributions, computed here afresh. ret_first: the
	 * first of them; untouched when none is. */
	uint64_t (*verify)(const void *got, size_t count, const struct pattern *p, size_t *ret_first);
};

extern const struct datatype datatype_int8, datatype_uint8, datatype_int32, datatype_uint32, datatype_int64,
	datatype_uint64, datatype_half, datatype_float, datatype_double, datatype_bfloat16;

/* All, NULL-ended, in nccl-tests' order. */
extern const struct datatype *const datatypes[];

/* By nccl-tests' name. ERR_INPUT: unknown, with the known ones. */
int datatype_find(const char *name, const struct datatype **ret, struct err *e);
int datatype_find_reduction(const char *name, enum reduction *ret, struct err *e);
const char *datatype_reduction_name(enum reduction op);

/* 64 bits that depend on all three. */
static inline uint64_t datatype_bits(uint64_t seed, uint32_t rank, uint64_t index)
{
	uint64_t x = index * 0x9e3779b97f4a7c15ULL + seed * 0xd1342543de82ef95ULL + rank * 0xaf251af3b0f025b5ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 29;
}

/* A whole number in [-most, most] from bits; most < 2^31. */
static inline int64_t datatype_whole(uint64_t bits, uint32_t most)
{
	return (int64_t)((bits >> 32) * (2ULL * most + 1) >> 32) - (int64_t)most;
}

/* The compilers' -O2 differs on loops of unknown length; these are the inner loops of the proof. */
#if defined(__GNUC__) && !defined(__clang__)
#define DATATYPE_LOOP __attribute__((optimize("O3")))
#else
#define DATATYPE_LOOP
#endif

#endif
