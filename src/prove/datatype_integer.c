/* SPDX-License-Identifier: MIT */
/* Whole numbers wrap around, so any bits may be summed; odd factors keep a product from ending in zeros. */
#include "prove/datatype.h"

/* For AVG the sum must not wrap: `most` is the type's largest value. */
static inline uint64_t contribution(const struct pattern *p, uint32_t rank, uint64_t index, uint64_t most)
{
	uint64_t bits = datatype_bits(p->seed, rank, index);

	if (p->op == REDUCTION_PROD)
		return bits | 1;
	if (p->op != REDUCTION_AVG)
		return bits;
	if (most / p->ranks == 0)
		return rank < most ? bits & 1 : 0;
	return bits % (most / p->ranks);
}

#define ROW datatype_int8
#define ROW_NAME "int8"
#define ELEMENT int8_t
#define VALUE int8_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((int8_t)(uint8_t)((uint8_t)(a) + (uint8_t)(b)))
#define MUL(a, b) ((int8_t)(uint8_t)((uint8_t)(a) * (uint8_t)(b)))
#define CONTRIBUTION(p, rank, i) ((int8_t)(uint8_t)contribution(p, rank, i, INT8_MAX))
#define DIVIDE(v, n) ((int8_t)((v) / (int64_t)(n)))
#include "prove/datatype_rows.h"

#define ROW datatype_uint8
#define ROW_NAME "uint8"
#define ELEMENT uint8_t
#define VALUE uint8_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((uint8_t)((a) + (b)))
#define MUL(a, b) ((uint8_t)((a) * (b)))
#define CONTRIBUTION(p, rank, i) ((uint8_t)contribution(p, rank, i, UINT8_MAX))
#define DIVIDE(v, n) ((uint8_t)((v) / (uint64_t)(n)))
#include "prove/datatype_rows.h"

#define ROW datatype_int32
#define ROW_NAME "int32"
#define ELEMENT int32_t
#define VALUE int32_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define MUL(a, b) ((int32_t)((uint32_t)(a) * (uint32_t)(b)))
#define CONTRIBUTION(p, rank, i) ((int32_t)(uint32_t)contribution(p, rank, i, INT32_MAX))
#define DIVIDE(v, n) ((int32_t)((v) / (int64_t)(n)))
#include "prove/datatype_rows.h"

#define ROW datatype_uint32
#define ROW_NAME "uint32"
#define ELEMENT uint32_t
#define VALUE uint32_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) ((uint32_t)contribution(p, rank, i, UINT32_MAX))
#define DIVIDE(v, n) ((v) / (n))
#include "prove/datatype_rows.h"

#define ROW datatype_int64
#define ROW_NAME "int64"
#define ELEMENT int64_t
#define VALUE int64_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define CONTRIBUTION(p, rank, i) ((int64_t)contribution(p, rank, i, INT64_MAX))
#define DIVIDE(v, n) ((v) / (int64_t)(n))
#include "prove/datatype_rows.h"

#define ROW datatype_uint64
#define ROW_NAME "uint64"
#define ELEMENT uint64_t
#define VALUE uint64_t
#define VALUE_OF(x) (x)
#define ELEMENT_OF(v) (v)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define CONTRIBUTION(p, rank, i) (contribution(p, rank, i, UINT64_MAX))
#define DIVIDE(v, n) ((v) / (n))
#include "prove/datatype_rows.h"
