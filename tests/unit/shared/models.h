/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * models.h - for tests of models: they are read from text, and what they say is tried on made-up calls.
 *
 * The kernel's part is played by run(): it carries out a capture program on made-up registers, a stack
 * and the test's own memory, with garbage wherever the ABI allows garbage.
 */
#ifndef TESTS_SHARED_MODELS_H
#define TESTS_SHARED_MODELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/model.h"
#include "meaning/value.h"

#define GARBAGE 0xabad1dea00000000u
#define RESULT_OF(x) .result = (uint64_t)(x)
#define ADDRESS(x) ((uint64_t)(uintptr_t)(x))

/* A runtime whose types differ between two of its libraries, and one in which a function is several events. */
extern const char message_model[], task_model[];

struct model_set *read_text(const char *text);
/* A model of one program with these lines. */
struct model_set *read_lines(const char *lines);
const struct function *find_function(const struct model_set *set, const char *symbol);
/* What is said on standard error while `text` is read, which must fail. */
char *complaint(const char *text, size_t length);
/* A model of one wrong line: where in it the mistake is, and what is said of it. */
void complains(const char *line, const char *place, const char *expected);

struct call {
	uint64_t registers[6];
	uint64_t stack[16]; /* [0] is the return address */
	uint64_t result, result2;
	void (*during)(void *context); /* what the function does to memory */
	void *context;
	bool unwound;
};

struct seen {
	struct capture capture;
	uint64_t words[GB_SLOTS];
	uint32_t unread;
	bool returned;
	enum role role;
};

/* The words of one call, as the kernel side fetches them. What is not sent is wiped. */
struct seen run(const struct function *f, const char *soname, const struct call *call);
const struct value *value_named(const struct seen *s, const char *name);
struct value_reading reading(const struct seen *s, const char *name);
/* Of a value that must be known. */
int64_t number(const struct seen *s, const char *name);
void assert_payload(const struct seen *s, int64_t bytes, int64_t sent, int64_t received);
void done(struct seen *s, struct model_set *set);

#endif
