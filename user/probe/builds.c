/*
 * builds.c - which runtime a file has, and how one that lies in the program was built: as the user says (--build), else as its model
 * recognises it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static bool build_test_holds(void *context, const struct build_test *test)
{
	struct image *image = context;

	switch (test->kind) {
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

const struct build *plan_build(const struct plan *plan, const struct model *model, struct image *image)
{
	if (!model->nbuilds)
		return NULL;
	return told_build(plan, model) ?: model_build_recognise(model, build_test_holds, image);
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
		log_error("--build=%s: model %s has no such build: 'gaspbpf list --known' names them", log_safe(wish), log_safe(name));
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
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && plan->sites[i].function->model == model)
			return true;
	return false;
}
