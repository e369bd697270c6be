/* SPDX-License-Identifier: MIT */
/*
 * A check is one row in a file of its name: what should hold on a node, what goes wrong in the field when it does not,
 * and how to mend it. check.c lists them; node.c runs each in a process of its own.
 */
#ifndef KILN_PROVE_CHECK_H
#define KILN_PROVE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/world.h"

enum check_outcome {
	CHECK_PASS,
	CHECK_WARN, /* works, but slower or less safely than it should, or only for now */
	CHECK_FAIL, /* jobs fail, or silently leave the fabric */
	CHECK_SKIP, /* cannot tell, or does not apply here; the evidence says why */
};
#define CHECK_OUTCOMES 4

#define CHECK_EVIDENCE_BYTES 1024
#define CHECK_MEND_BYTES 512

/* Fixed in size and free of pointers: it travels from the check's process through a pipe. */
struct check_result {
	enum check_outcome outcome;
	bool simulated;                      /* what was seen comes from a stand-in (NVML's fake) */
	char evidence[CHECK_EVIDENCE_BYTES]; /* what was seen, and where */
	char mend[CHECK_MEND_BYTES];         /* what to do, when it differs from the row's; else "" */
};

/* What several checks ask for, read once before they start. */
struct check_context {
	const struct world *world;
	unsigned efa_devices; /* on the PCI bus: see pci_list_efa */
	unsigned gpus;        /* on the PCI bus: see pci_list_gpus */
	unsigned nvswitches;  /* on the PCI bus */
	bool has_pci;         /* false: the tree holds no /sys/bus/pci, so the counts above say nothing */
};

struct check {
	const char *id;              /* as typed after --only: lower case with dashes */
	const char *what;            /* one line: the claim that is checked */
	enum check_outcome severity; /* CHECK_FAIL or CHECK_WARN: the worst that it may say */
	const char *why;             /* what goes wrong in the field when it does not hold */
	const char *mend;            /* what to do */
	const char *source;          /* https:// link, or the document and section */
	/* 0 with ret filled; a negative errno when the check itself could not be made: that becomes a skip with e's
	 * message. Reads only through c->world. May block or crash: it runs in a process of its own. */
	int (*run)(const struct check_context *c, struct check_result *ret, struct err *e);
};

/* NULL-ended, in the order they are shown. */
extern const struct check *const checks[];
/* NULL when there is none of that id. */
const struct check *check_find(const char *id);
/* "pass", "warn", "fail", "skip". */
const char *check_outcome_text(enum check_outcome o);

/* Counts devices; never fails: a tree without /sys/bus/pci counts as none and has_pci is false. Borrows w. */
void check_context_init(struct check_context *c, const struct world *w);
/* "no EFA device on the PCI bus: ...": what a skip says when the device that the check is about is not there. */
const char *check_context_no_efa(const struct check_context *c);
const char *check_context_no_gpu(const struct check_context *c);
/* True, with ret made a skip, when the tree is recorded: `what` needs the live machine. */
bool check_context_recorded(const struct check_context *c, const char *what, struct check_result *ret);

/* Each sets outcome and evidence and returns 0. */
int check_pass(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int check_warn(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int check_fail(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int check_skip(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A mend of its own, instead of the row's. */
void check_mend(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "; text" behind the evidence that is there (no "; " when there is none). */
void check_add(struct check_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Makes any bytes a valid one-line UTF-8 text of the same length: control characters become spaces, bytes that are not
 * UTF-8 question marks. JSON takes nothing else. */
void check_scrub(char *text);
/* The worse of what is there and o, so that several findings can be added up. */
void check_worsen(struct check_result *ret, enum check_outcome o);

#endif
