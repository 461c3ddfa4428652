/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.c - the text of a model (--model-file), what its functions' values are fetched from, and those read from a
 * call's words.
 */
#include "model/model.h"
#include "meaning/value.h"
#include "shared/fuzz.h"

static void read_values(const struct capture *capture)
{
	uint64_t words[GB_SLOTS];
	struct buffer bytes = { 0 };

	must(capture->program.slots <= GB_SLOTS && capture->program.entry_ops + capture->program.return_ops <= GB_OPS);
	for (unsigned i = 0; i < GB_SLOTS; i++)
		words[i] = 0x0101010101010101ULL * i;
	for (size_t i = 0; i < capture->nvalues; i++) {
		struct value again;
		struct cursor cursor;

		value_read(&capture->values[i], words, capture->program.slots, 0, true);
		value_text(&capture->values[i], words, capture->program.slots, 1, false);
		buffer_clear(&bytes);
		value_encode(&bytes, &capture->values[i]);
		cursor = (struct cursor){ bytes.data, bytes.data + bytes.size, false };
		must(value_decode(&cursor, &again));
		value_free(&again);
	}
	buffer_free(&bytes);
}

static void look_at(const struct model *model)
{
	static const char *const libraries[] = { NULL, "libmpi.so.40" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		model_matches_file(model, libraries[i], "program");
		model_wraps_in_file(model, libraries[i], "program");
		model_runtime_has_file(model, libraries[i], NULL);
		for (size_t f = 0; f < model->nfunctions; f++) {
			struct capture capture;

			if (model_function_capture(&model->functions[f], libraries[i], &capture))
				continue;
			read_values(&capture);
			capture_free(&capture);
		}
	}
	for (size_t i = 0; i < model->nevents; i++)
		model_event_find(model, model->events[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_set *set = models_new();
	char *text = input_text(data, size);

	must(set);
	if (!models_add_text(set, "input", text, size))
		for (size_t i = 0; i < models_count(set); i++)
			look_at(models_at(set, i));
	models_free(set);
	free(text);
	return 0;
}
