/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.c - the functions of OTF2's own library, loaded when they are needed.
 */
#include "export/otf2/library.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "util/log.h"

/* GASPBPF_OTF2 is the name of the library that the headers are of, as the linker would note it (Makefile). */
static bool load(struct otf2_library *library)
{
	static const char advice[] = "install libopen-trace-format2-dev, or choose another format";
	void *handle = dlopen(GASPBPF_OTF2, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		log_error("OTF2: %s: %s", log_safe(dlerror()), advice);
		return false;
	}
#define OTF2_FIND(name)                                                                                \
	library->name = (__typeof__(OTF2_##name) *)dlsym(handle, "OTF2_" #name);                       \
	if (!library->name) {                                                                          \
		log_error("OTF2: %s has no function OTF2_%s: %s", GASPBPF_OTF2, #name, advice);        \
		return false;                                                                          \
	}
	OTF2_CALLS(OTF2_FIND)
#undef OTF2_FIND
	return true;
}

const struct otf2_library *otf2_library(void)
{
	static struct otf2_library library;
	static bool loaded;

	loaded = loaded || load(&library);
	return loaded ? &library : 0;
}
