/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.c - the functions of OTF2's own library, loaded when they are needed.
 */
#include "export/otf2/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "util/log.h"

/* GASPBPF_OTF2 is the name of the library that the headers are of, as the linker would note it (Makefile). */
static int load(struct otf2_library *library)
{
	static const char advice[] = "install libopen-trace-format2-dev, or choose another format";
	void *handle;

	errno = 0;
	handle = dlopen(GASPBPF_OTF2, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		int error = errno;

		log_error("OTF2: %s: %s: %s", log_safe(dlerror()), strerror(error ?: ENOENT), advice);
		return error ? -error : -ENOENT;
	}
#define OTF2_FIND(name)                                                                         \
	library->name = (__typeof__(OTF2_##name) *)dlsym(handle, "OTF2_" #name);                \
	if (!library->name) {                                                                   \
		log_error("OTF2: %s has no function OTF2_%s: %s", GASPBPF_OTF2, #name, advice); \
		return -ENOENT;                                                                 \
	}
	OTF2_CALLS(OTF2_FIND)
#undef OTF2_FIND
	return 0;
}

int otf2_library(const struct otf2_library **library)
{
	static struct otf2_library loaded;
	static bool is_loaded;
	int error = is_loaded ? 0 : load(&loaded);

	is_loaded = !error;
	*library = &loaded;
	return error;
}
