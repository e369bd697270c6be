/* SPDX-License-Identifier: MIT */
/*
 * The body of one datatype row; included once per type (so it has no include guard), after these are defined:
 *	ROW		the row's name (datatype_float)
 *	ROW_NAME	nccl-tests' name ("float")
 *	ELEMENT		the type in memory
 *	VALUE		the type that is reduced in; may be ELEMENT
 *	VALUE_OF(x)	ELEMENT -> VALUE, ELEMENT_OF(v) VALUE -> ELEMENT
 *	ADD(a, b)	MUL(a, b), over VALUE, without undefined overflow
 *	CONTRIBUTION(p, rank, index)	the input, a VALUE
 *	DIVIDE(v, n)	for AVG
 */
#define ROW_PASTE_(a, b) a##_##b
#define ROW_PASTE(a, b) ROW_PASTE_(a, b)
#define FN(x) ROW_PASTE(ROW, x)

static inline __attribute__((always_inline)) VALUE FN(one)(enum reduction op, VALUE a, VALUE b)
{
	switch (op) {
	case REDUCTION_PROD:
		return MUL(a, b);
	case REDUCTION_MAX:
		return a > b ? a : b;
	case REDUCTION_MIN:
		return a < b ? a : b;
	case REDUCTION_SUM:
	case REDUCTION_AVG:
		break;
	}
	return ADD(a, b);
}

static void FN(fill)(void *to, size_t count, const struct pattern *p, uint32_t rank)
{
	ELEMENT *x = to;

	for (size_t i = 0; i < count; i++)
		x[i] = ELEMENT_OF(CONTRIBUTION(p, rank, i));
}

static inline __attribute__((always_inline)) void FN(combine_op)(enum reduction op, ELEMENT *to, const ELEMENT *a,
								 const ELEMENT *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = ELEMENT_OF(FN(one)(op, VALUE_OF(a[i]), VALUE_OF(b[i])));
}

/* One loop per reduction, so that each can be vectorized. */
DATATYPE_LOOP static void FN(combine)(enum reduction op, void *to, const void *a, const void *b, size_t count)
{
	switch (op) {
	case REDUCTION_PROD:
		FN(combine_op)(REDUCTION_PROD, to, a, b, count);
		return;
	case REDUCTION_MAX:
		FN(combine_op)(REDUCTION_MAX, to, a, b, count);
		return;
	case REDUCTION_MIN:
		FN(combine_op)(REDUCTION_MIN, to, a, b, count);
		return;
	case REDUCTION_SUM:
	case REDUCTION_AVG:
		FN(combine_op)(REDUCTION_SUM, to, a, b, count);
		return;
	}
}

static void FN(finish)(enum reduction op, void *to, size_t count, uint32_t ranks)
{
	ELEMENT *x = to;

	if (op != REDUCTION_AVG)
		return;
	for (size_t i = 0; i < count; i++)
		x[i] = ELEMENT_OF(DIVIDE(VALUE_OF(x[i]), ranks));
}

static uint64_t FN(verify)(const void *got, size_t count, const struct pattern *p, size_t *ret_first)
{
	const ELEMENT *x = got;
	uint64_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		VALUE want = CONTRIBUTION(p, 0, i);
		for (uint32_t rank = 1; rank < p->ranks; rank++)
			want = FN(one)(p->op, want, CONTRIBUTION(p, rank, i));
		if (p->op == REDUCTION_AVG)
			want = DIVIDE(want, p->ranks);
		/* Compared as stored; a NaN equals nothing and so is wrong. */
		if (VALUE_OF(x[i]) == VALUE_OF(ELEMENT_OF(want)))
			continue;
		if (wrong++ == 0)
			*ret_first = i;
	}
	return wrong;
}

const struct datatype ROW = {
	.name = ROW_NAME,
	.bytes = sizeof(ELEMENT),
	.fill = FN(fill),
	.combine = FN(combine),
	.finish = FN(finish),
	.verify = FN(verify),
};

#undef FN
#undef ROW_PASTE
#undef ROW_PASTE_
#undef ROW
#undef ROW_NAME
#undef ELEMENT
#undef VALUE
#undef VALUE_OF
#undef ELEMENT_OF
#undef ADD
#undef MUL
#undef CONTRIBUTION
#undef DIVIDE
