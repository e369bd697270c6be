/* SPDX-License-Identifier: MIT */
/*
 * A world for the stack tests: a folder with its own KILN_DATA (one operating system "tiny1", whose mirror is a signed
 * repository in the same folder; components) and its own KILN_STATE. The real apt reads it.
 */
#ifndef KILN_TESTS_STACK_FIXTURE_H
#define KILN_TESTS_STACK_FIXTURE_H

#include "base/err.h"
#include "stack/plan.h"
#include "stack/stack.h"

#define FIXTURE_DATE "Sat, 10 Jun 2023 08:00:00 UTC"
#define FIXTURE_EPOCH 1686384000

struct fixture {
	char *dir; /* all is below it */
};

/* Asserts. Components: lib (package liba), tool (needs lib), fresh (lib's version source), self (kiln's own source). */
void fixture_init(struct fixture *f);
/* Adds what the package tests need: the repository, signed by a throw-away key. false: gpg or apt is missing. */
bool fixture_make_repository(struct fixture *f);
void fixture_fini(struct fixture *f);

/* Writes and signs the repository anew: `packages` in the form of a Packages file. */
void fixture_publish(struct fixture *f, const char *date, const char *packages);
/* The packages that the repository starts with. */
extern const char fixture_packages[];

/* Writes a file below the folder, with the folders above it. */
void fixture_write(struct fixture *f, const char *path, const char *text);
/* A component with install.sh and verify.sh; json is its component.json. */
void fixture_component(struct fixture *f, const char *name, const char *json);
/* Writes the stack file FOLDER/stack.json with this text as "components" and resolves it. */
int fixture_plan(struct fixture *f, const char *components, bool update, struct plan **ret, struct err *e);
/* As fixture_plan, from the whole text of a stack file. */
int fixture_plan_text(struct fixture *f, const char *text, bool update, struct plan **ret, struct err *e);
/* The step of that name; asserts that there is one. */
const struct plan_step *fixture_step(const struct plan *p, const char *name);

/* cmocka's: one fixture with its repository as the state; NULL, for the test to skip, where apt or gpg is not installed. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

#endif
