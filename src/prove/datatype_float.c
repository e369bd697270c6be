/* SPDX-License-Identifier: MIT */
/*
 * Floating point: sums of whole numbers that stay below 2^(significand bits), products of powers of two, so no step
 * rounds. An average rounds once, in the division, here and there alike.
 */
#include <string.h>

#include "prove/datatype.h"

/* A product's factors beyond this many ranks are 1 and -1: 2^12 and 2^-12 fit into half. */
#define FACTOR_RANKS 12

/* `most`: whole numbers up to it are exact in the type. */
static inline double contribution(const struct pattern *p, uint32_t rank, uint64_t index, uint32_t most)
{
	static const double factors[] = { 1, -1, 2, 0.5 };
	const uint64_t bits = datatype_bits(p->seed, rank, index);

	switch (p->op) {
	case REDUCTION_PROD:
		return factors[bits >> 40 & (rank < FACTOR_RANKS ? 3 : 1)];
	case REDUCTION_MAX:
	case REDUCTION_MIN:
		return (double)datatype_whole(bits, most);
	case REDUCTION_SUM:
	case REDUCTION_AVG:
		break;
	}
	if (most / p->ranks > 0)
		return (double)datatype_whole(bits, most / p->ranks);
	return rank < most ? (double)datatype_whole(bits, 1) : 0;
}

static inline float float_of_bits(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t bits_of_float(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* IEEE binary16 by hand: not every compiler we build with has _Float16 on every machine. Subnormals are scaled by an exact
 * power of two. */
static inline float half_to_float(uint16_t h)
{
	const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	const uint32_t rest = h & 0x7fff;

	if (rest >= 0x7c00)
		return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
	if (rest < 0x0400)
		return float_of_bits(sign | bits_of_float((float)rest * 0x1p-24f));
	return float_of_bits(sign | ((rest << 13) + ((127 - 15) << 23)));
}

/* To the nearest, ties to even. */
static inline uint16_t float_to_half(float f)
{
	const uint32_t bits = bits_of_float(f);
	const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	const uint32_t rest = bits & 0x7fffffff;

	if (rest > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (rest >= 0x477ff000) /* rounds to more than 65504 */
		return (uint16_t)(sign | 0x7c00);
	if (rest < 0x38800000) /* adding 0.5 puts the rounded subnormal into the low bits */
		return (uint16_t)(sign | (bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000));
	return (uint16_t)(sign | ((rest - ((127 - 15) << 23) + 0xfff + (rest >> 13 & 1)) >> 13));
}

static inline float bfloat16_to_float(uint16_t b)
{
	return float_of_bits((uint32_t)b << 16);
}

static inline uint16_t float_to_bfloat16(float f)
{
	const uint32_t bits = bits_of_float(f);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define ROW datatype_float
#define ROW_NAME "float"
#define ELEMENT float
#define VALUE float
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) ((float)contribution(p, rank, i, 1 << 24))
#define DIVIDE(v, n) ((v) / (float)(n))
#include "prove/datatype_rows.h"

#define ROW datatype_double
#define ROW_NAME "double"
#define ELEMENT double
#define VALUE double
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) (contribution(p, rank, i, 1 << 30))
#define DIVIDE(v, n) ((v) / (double)(n))
#include "prove/datatype_rows.h"

#define ROW datatype_half
#define ROW_NAME "half"
#define ELEMENT uint16_t
#define VALUE float
#define VALUE_OF(x) half_to_float(x)
#define ELEMENT_OF(v) float_to_half(v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) ((float)contribution(p, rank, i, 1 << 11))
#define DIVIDE(v, n) ((v) / (float)(n))
#include "prove/datatype_rows.h"

#define ROW datatype_bfloat16
#define ROW_NAME "bfloat16"
#define ELEMENT uint16_t
#define VALUE float
#define VALUE_OF(x) bfloat16_to_float(x)
#define ELEMENT_OF(v) float_to_bfloat16(v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) ((float)contribution(p, rank, i, 1 << 8))
#define DIVIDE(v, n) ((v) / (float)(n))
#include "prove/datatype_rows.h"
