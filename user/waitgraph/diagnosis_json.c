/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnosis_json.c - a finding as JSON, whoever has found it. */
#include "util/json.h"
#include "waitgraph/waitgraph.h"

static void put_parties(struct json *j, const struct diagnosis *f, size_t first, size_t last,
			void (*who)(struct json *j, const void *context, size_t party), const void *context)
{
	json_array(j);
	for (size_t i = first; i < last; i++) {
		json_object(j);
		who(j, context, f->parties[i]);
		json_end_object(j);
	}
	json_end_array(j);
}

void diagnosis_put(struct json *j, const struct diagnosis *f,
		   void (*who)(struct json *j, const void *context, size_t party), const void *context)
{
	json_object(j);
	json_key_string(j, "kind", finding_name(f->kind));
	json_key_string(j, "text", f->text);
	json_key_bool(j, "likely", f->likely);
	json_key(j, "waiting");
	put_parties(j, f, 0, f->nwaiting, who, context);
	json_key(j, "others");
	put_parties(j, f, f->nwaiting, f->nparties, who, context);
	json_end_object(j);
}
