/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * builds.c - which runtime a file has, and how one that lies in the program was built: as the user says (--build), else
 * as its model recognises it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/instruction.h"
#include "probe/probe.h"
#include "util/files.h"
#include "util/log.h"

bool plan_model_applies(const struct model *model, const struct image *i)
{
	if (model_matches_file(model, i->soname, path_base(i->path)))
		return true;
	if (!model->in_program || !i->is_program)
		return false;
	if (!model->needs || !*model->needs)
		return true;
	for (char **need = model->needs; need && *need; need++)
		if (image_symbol(i, *need))
			return true;
	return false;
}

const struct model *plan_model_in(const struct plan *plan, const struct image *image, size_t *next)
{
	while (*next < models_count(plan->models)) {
		const struct model *model = models_at(plan->models, (*next)++);

		if (!model->alone && !model->always && plan_model_applies(model, image))
			return model;
	}
	return NULL;
}

struct looked_at {
	const struct model *model;
	struct image *image;
	uint8_t bits[SHARED_PARTS]; /* as the tests found them */
};

#define CODE_MOST 65536 /* bytes of one function */

/* Does this function shift right by both? */
static bool code_shifts(struct decoder *decoder, const struct image *image, const struct symbol *symbol,
			const uint8_t shifts[2])
{
	size_t size = symbol->size < CODE_MOST ? symbol->size : CODE_MOST;
	uint8_t *code = malloc(size + 1);
	bool found[2] = { false, false };

	if (code && pread(image->fd, code, size, symbol->offset) == (ssize_t)size) {
		for (size_t at = 0, length; at < size && (length = instruction_length(decoder, code + at, size - at));
		     at += length) {
			unsigned by = instruction_shift(decoder, code + at, size - at);

			for (int i = 0; by && i < 2; i++)
				found[i] |= by == shifts[i];
		}
	}
	free(code);
	return found[0] && found[1];
}

static bool any_shifts(const struct looked_at *l, const uint8_t shifts[2])
{
	struct decoder *decoder;
	bool found = false;

	if (decoder_new(&decoder))
		return false;
	for (size_t i = 0; i < l->model->nfunctions && !found; i++) {
		const struct symbol *symbol = image_symbol(l->image, l->model->functions[i].symbol);

		found = symbol && code_shifts(decoder, l->image, symbol, shifts);
	}
	decoder_free(decoder);
	return found;
}

/* Do the bits of the parts fill a word? */
static bool fill_word(const uint8_t bits[SHARED_PARTS])
{
	unsigned sum = 0;

	for (int i = 0; i < SHARED_PARTS; i++)
		sum += bits[i];
	return sum == 64;
}

static bool build_test_holds(void *context, const struct build_test *test)
{
	struct looked_at *l = context;
	struct image *image = l->image;

	switch (test->kind) {
	case BUILD_BITS:
		if (image_has_bits(image, test->name, test->parts, SHARED_PARTS, l->bits) && fill_word(l->bits))
			return true;
		memset(l->bits, 0, sizeof(l->bits));
		return false;
	case BUILD_SHIFTS:
		return any_shifts(l, test->shifts);
	case BUILD_TEXT:
		return image_has_text(image, test->name);
	case BUILD_SYMBOL:
		return image_symbol(image, test->name);
	case BUILD_STRUCT:
		return image_has_struct(image, test->name, test->bytes, test->member);
	}
	return false;
}

/* What --build says of the model; NULL: nothing. */
static const struct build *told_build(const struct plan *plan, const struct model *model)
{
	size_t length = strlen(model->name);

	for (size_t i = 0; i < plan->nbuilds; i++)
		if (!strncmp(plan->builds[i], model->name, length) && plan->builds[i][length] == '=')
			return model_build_find(model, plan->builds[i] + length + 1);
	return NULL;
}

bool plan_build_is_told(const struct plan *plan, const struct model *model)
{
	return told_build(plan, model);
}

const struct build *plan_build(const struct plan *plan, const struct model *model, struct image *image,
			       struct build *room)
{
	struct looked_at l = { .model = model, .image = image };
	const struct build *build = told_build(plan, model);

	if (!build && model->nbuilds)
		build = model_build_recognise(model, build_test_holds, &l);
	if (!build)
		return NULL;
	*room = *build;
	memcpy(room->bits, l.bits, sizeof(room->bits));
	return room;
}

/* MODEL=BUILD, of which there is one. */
static int check_build(const struct model_set *models, const char *wish)
{
	const char *equal = strchr(wish, '=');
	char *name = strndup(wish, equal ? equal - wish : 0);
	const struct model *model = name ? models_find(models, name) : NULL;
	int err = 0;

	if (!name)
		return -ENOMEM;
	if (!equal || !model) {
		log_error("--build=%s: expected MODEL=BUILD: 'gaspbpf list --known' names both", log_safe(wish));
		err = -EINVAL;
	} else if (!model_build_find(model, equal + 1)) {
		log_error("--build=%s: model %s has no such build: 'gaspbpf list --known' names them", log_safe(wish),
			  log_safe(name));
		err = -EINVAL;
	}
	free(name);
	return err;
}

int plan_set_builds(struct plan *plan, char **builds, size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = check_build(plan->models, builds[i]);
	plan->builds = builds;
	plan->nbuilds = count;
	return err;
}

bool plan_has_sites(const struct plan *plan, const struct model *model, const struct image *image)
{
	for (size_t i = 0; image && i < plan->nsites; i++)
		if (plan->sites[i].image == image && (!model || plan->sites[i].function->model == model))
			return true;
	return false;
}
