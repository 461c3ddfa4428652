# SPDX-License-Identifier: BSD-2-Clause
# libgaspbpf-starpu-perf: StarPU's performance counters for StarPU builds that have none (docs/starpu.md).

STARPU_PERF := $(BUILD)/libgaspbpf-starpu-perf/libgaspbpf-starpu-perf.so

all: $(STARPU_PERF)

$(STARPU_PERF): $(wildcard libgaspbpf-starpu-perf/*.[ch]) include/starpu_perf_monitoring.h include/gaspbpf/counter_tool.h
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -Iinclude $(CFLAGS) $(LDFLAGS) -fPIC -fvisibility=hidden -shared \
		-Wl,-soname,libgaspbpf-starpu-perf.so.1 -o $@.1 $(filter %.c,$^) -ldl -lpthread && ln -sf $(@F).1 $@

install: install-starpu-perf
.PHONY: install-starpu-perf
install-starpu-perf: $(STARPU_PERF)
	install -D -m 755 $(STARPU_PERF).1 $(DESTDIR)$(prefix)/lib/libgaspbpf-starpu-perf.so.1
	ln -sf libgaspbpf-starpu-perf.so.1 $(DESTDIR)$(prefix)/lib/libgaspbpf-starpu-perf.so
	install -D -m 644 include/starpu-perf/starpu.h $(DESTDIR)$(prefix)/include/starpu-perf/starpu.h
	install -D -m 644 include/gaspbpf/counter_tool.h $(DESTDIR)$(prefix)/include/gaspbpf/counter_tool.h
	install -d $(DESTDIR)$(pkgconfig)
	printf 'prefix=%s\nName: gaspbpf-starpu-perf\nDescription: StarPU performance counters by gaspbpf\nVersion: $(VERSION)\nLibs: -L$${prefix}/lib -lgaspbpf-starpu-perf\nCflags: -I$${prefix}/include/starpu-perf\n' \
		'$(prefix)' > $(DESTDIR)$(pkgconfig)/gaspbpf-starpu-perf.pc
