# SPDX-License-Identifier: BSD-2-Clause
# make            builds ./gaspbpf
# make unit       builds the unit tests of the user side
# make workloads  builds the jobs under test
# make docs      writes the reference pages and the headers of events, from the models
# make install, make uninstall    under prefix=/usr/local (or PREFIX)
# make page       makes the page of `export -o run.html`, in one file: needs npm (page/rules.mk)
# make numbers   writes down the numbers of new events (models/numbers)
# make deb       builds a Debian package, build/gaspbpf_VERSION_amd64.deb
# make bench      measures what observing costs (as root; bench/README.md)
# make fuzz       tries the readers of what others write on made-up input (docs/fuzzing.md)
# make check      runs the unit tests and those on files alone: without root, in a minute (all tests: scripts/check)
# make SAN=1      builds everything with the sanitizers of addresses and of undefined behaviour, in build/san; make check SAN=1
# make lint       looks for what style and common sense forbid; make format puts the C sources in shape
# make compile_commands.json   for editors and language servers
# make V=1        shows the commands

BUILD   := build$(if $(SAN),/san)
PLACE   := $(if $(SAN),$(BUILD)/)
comma   := ,
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
PKGS    := libbpf libelf libdw liblzma libzstd zlib capstone libmicrohttpd ncursesw
PREFIX  ?= /usr/local
prefix  ?= $(PREFIX)
VERSION := 0.1
pkgconfig ?= $(prefix)/lib/pkgconfig

CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wmissing-prototypes -Wstrict-prototypes
CFLAGS   += -fstack-protector-strong -D_FORTIFY_SOURCE=2
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Iuser -I$(BUILD) $(shell pkg-config --cflags $(PKGS))
# uthash leaves an element out that it has no memory for (its hh.tbl is NULL then), and does not end the program.
CPPFLAGS += -DHASH_NONFATAL_OOM=1
CPPFLAGS += -DGASPBPF_VERSION='"$(VERSION)"' -DGASPBPF_DATA='"$(prefix)/share/gaspbpf"'
LDFLAGS  += -Wl,-z,relro,-z,now
LDLIBS   += $(shell pkg-config --libs $(PKGS)) -liberty -lpthread -lm

# With sanitizers, as the fuzz targets have it, too (tests/fuzz/rules.mk): the objects are the same.
SANITIZED := -O1 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end \
	     -fsanitize=address,undefined -fno-omit-frame-pointer
OBJ       := $(if $(SAN),build/fuzz/user,$(BUILD))
ifneq ($(SAN),)
  CC     := $(CLANG)
  CFLAGS := $(SANITIZED) -fsanitize=fuzzer-no-link
endif

# What is known of the processor: user/arch/$(ARCH), bpf/arch_$(BPF_ARCH).h
ARCH     := x86_64
BPF_ARCH := x86

BPFFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Iinclude -Ivmlinux -Ibpf

SOURCES  := $(sort $(wildcard user/*/*.c user/arch/$(ARCH)/*.c) $(filter-out user/arch/%,$(wildcard user/*/*/*.c)))
# OTF2's library is opened when it is needed: of it the headers are enough, and its name. Without them: all but that.
OTF2     := $(if $(shell pkg-config --exists otf2 2>/dev/null && echo yes),$(shell $(CC) -print-file-name=libopen-trace-format2.so))
OTF2     := $(if $(OTF2),$(shell objdump -p $(OTF2) 2>/dev/null | sed -n 's/ *SONAME *//p'))
OTF2_IS  := $(shell mkdir -p $(BUILD); echo '$(OTF2)' | cmp -s - $(BUILD)/otf2.name || echo '$(OTF2)' > $(BUILD)/otf2.name)
ifneq ($(OTF2),)
  CPPFLAGS += -DGASPBPF_OTF2='"$(OTF2)"' $(shell pkg-config --cflags otf2)
else
  SOURCES := $(filter-out user/export/otf2/%,$(SOURCES))
endif
# The page of `export -o run.html`, of which `make page` makes one file: in the source package it is there. Without it: all but that.
PAGE     := $(firstword $(wildcard page/page.html build/page/page.html))
PAGE_IS  := $(shell mkdir -p $(BUILD); echo '$(PAGE)' | cmp -s - $(BUILD)/page.name || echo '$(PAGE)' > $(BUILD)/page.name)
CPPFLAGS += $(if $(PAGE),-DGASPBPF_PAGE='"$(PAGE)"')
OBJECTS  := $(SOURCES:user/%.c=$(OBJ)/%.o)
LIBRARY  := $(BUILD)/libgaspbpf.a
SKELS    := $(patsubst bpf/%.bpf.c,$(BUILD)/%.skel.h,$(wildcard bpf/*.bpf.c))
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*.c))

ifeq ($(V),1)
  Q =
  say =
else
  Q = @
  say = @printf '  %-8s %s\n' '$(1)' '$(2)';
endif

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit workloads docs numbers clean install uninstall deb check lint format

all: $(PLACE)gaspbpf $(PLACE)gaspbpf-toolhost $(if $(SAN),,$(BUILD)/numbers.checked)

$(PLACE)gaspbpf: $(OBJ)/cli/main.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(OTF2),-u gethostid -Wl$(comma)--export-dynamic-symbol=gethostid) -o $@ $^ $(LDLIBS)

# The process that tool libraries run in. They call its clock and its tick functions in place of libc's and of the runtime's.
HOST     := $(filter $(OBJ)/toolhost/%,$(OBJECTS))
EXPORTED := clock_gettime gettimeofday time pupc_ticks_now pupc_ticks_to_us pupc_tick_granularityus gaspbpf_function_name \
	    gaspbpf_rank gaspbpf_ranks gaspbpf_thread_of gaspbpf_phase_of gaspbpf_address_of

$(PLACE)gaspbpf-toolhost: $(HOST) $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(EXPORTED:%=-Wl,--export-dynamic-symbol=%) -o $@ $^ -lffi -lpthread -ldl -lm

$(LIBRARY): $(filter-out $(OBJ)/cli/main.o $(HOST),$(OBJECTS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: user/%.c | $(SKELS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/export/otf2.o $(OBJ)/export/otf2/library.o: $(BUILD)/otf2.name
$(foreach place,$(sort $(OBJ) build/fuzz/user),$(place)/export/page.o $(place)/export/page/shell.o): $(BUILD)/page.name
$(foreach place,$(sort $(OBJ) build/fuzz/user),$(place)/export/page/shell.o): $(PAGE)

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) $(wildcard include/gaspbpf/*.h) vmlinux/vmlinux.h
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPFFLAGS) -c -o $@ $<

$(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@

unit: $(UNITS) $(BUILD)/tests/compose

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/unit/libshared.a $(LIBRARY)
	$(call say,UNIT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/unit/libshared.a $(LIBRARY) -lcmocka $(LDLIBS)

# one with rings that it fills itself, as some fuzz targets do
$(BUILD)/unit/pass_test: tests/unit/pass_test.c tests/fuzz/shared/kernel.c tests/fuzz/shared/fuzz.c $(LIBRARY)
	$(call say,UNIT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests/fuzz $(CFLAGS) -Wno-unused-parameter -o $@ $(filter %.c,$^) $(LIBRARY) -Wl,--wrap=kernel_control_fd \
		-Wl,--wrap=epoll_ctl -lcmocka $(LDLIBS)

# those that play the capture, or the kernel
wraps = $(addprefix -Wl$(comma)--wrap=,$(1))
$(BUILD)/unit/live_test: LDFLAGS += $(call wraps,capture_add_sink capture_drain capture_visit_open capture_read_sums capture_visit_threads clock_monotonic)
$(BUILD)/unit/top_test: LDFLAGS += $(call wraps,live_threads live_thread live_process live_interval live_since live_now live_ended_events \
	live_ended_event)
$(BUILD)/unit/scripts_test: LDFLAGS += $(call wraps,script_reader_new script_reader_free script_take looks_take)
$(BUILD)/unit/reader_start_test: LDFLAGS += $(call wraps,prctl reader_answers keep_privileges_to_read calls_allow_only)
$(BUILD)/unit/tally_test: LDFLAGS += $(call wraps,kernel_read_sums kernel_forget_sum kernel_sums_forgotten kernel_changes site_price)

# one that compares what the kernel makes of words with what user space does
$(BUILD)/unit/words_test: $(BUILD)/unit/bpf/words.skel.h
$(BUILD)/unit/bpf/%.bpf.o: tests/unit/bpf/%.bpf.c tests/unit/bpf/%.h $(wildcard bpf/*.h) $(wildcard include/gaspbpf/*.h) vmlinux/vmlinux.h
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPFFLAGS) -Itests/unit/bpf -c -o $@ $<

# what several unit tests need
$(BUILD)/unit/libshared.a: $(patsubst tests/unit/%.c,$(BUILD)/unit/%.o,$(wildcard tests/unit/shared/*.c))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/unit/shared/%.o: tests/unit/shared/%.c $(wildcard tests/unit/shared/*.h) $(LIBRARY)
	$(call say,UNIT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# recordings for tests, of what they say
$(BUILD)/tests/compose: tests/support/compose.c $(LIBRARY)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIBRARY) $(LDLIBS)

# What needs neither root nor a kernel: the unit tests, and the tests on recordings, models and documents; with sanitizers without
# those that are about no C source.
check: all unit
	$(Q)ASAN_OPTIONS=handle_segv=0:handle_abort=0 GASPBPF_BUILD=$(abspath $(BUILD)) GASPBPF_MODELS=$(abspath models) /usr/bin/python3 -m pytest -q -n $(shell nproc) -m files $(if $(SAN),$(wildcard tests/unit/test_units.py tests/recording/test_simulate*.py tests/recording/test_vocabulary.py),tests)

lint:
	$(Q)scripts/lint

format:
	$(Q)scripts/lint --format

compile_commands.json: $(SOURCES)
	$(Q)scripts/compile-commands $(CC) $(CPPFLAGS) $(CFLAGS) > $@

workloads:
	$(Q)$(MAKE) --no-print-directory -C tests/workloads BUILD=$(abspath $(BUILD))/workloads V=$(V)

include libpupc/rules.mk
include libgaspbpf-starpu-perf/rules.mk
include bench/rules.mk
include page/rules.mk
include tests/fuzz/rules.mk

docs: gaspbpf
	$(Q)scripts/docs

numbers: gaspbpf
	$(Q)scripts/numbers

# Tells of events that have no number for good yet, each time until they have one.
$(BUILD)/numbers.checked: gaspbpf scripts/numbers $(wildcard models/*)
	$(Q)if scripts/numbers --check; then touch $@; fi

# The manual page is what --help says.
$(BUILD)/gaspbpf.1: gaspbpf scripts/man
	$(Q)scripts/man > $@

install: gaspbpf gaspbpf-toolhost $(BUILD)/gaspbpf.1
	install -D -m 644 $(BUILD)/gaspbpf.1 $(DESTDIR)$(prefix)/share/man/man1/gaspbpf.1
	install -D -m 755 gaspbpf $(DESTDIR)$(prefix)/bin/gaspbpf
	install -D -m 755 gaspbpf-toolhost $(DESTDIR)$(prefix)/libexec/gaspbpf/gaspbpf-toolhost
	install -d $(DESTDIR)$(prefix)/share/gaspbpf/models
	install -m 644 models/*.model models/numbers models/unmodelled $(DESTDIR)$(prefix)/share/gaspbpf/models
	install -d $(DESTDIR)$(prefix)/include
	install -m 644 $(wildcard include/*.h include/*.hpp) $(DESTDIR)$(prefix)/include
	install -d $(DESTDIR)$(prefix)/share/doc/gaspbpf/events $(DESTDIR)$(prefix)/share/doc/gaspbpf/analyses
	install -m 644 docs/*.md $(DESTDIR)$(prefix)/share/doc/gaspbpf
	sed 's#](docs/#](#g' README.md > $(DESTDIR)$(prefix)/share/doc/gaspbpf/README.md
	install -m 644 docs/events/*.md $(DESTDIR)$(prefix)/share/doc/gaspbpf/events
	install -m 644 docs/analyses/*.md $(DESTDIR)$(prefix)/share/doc/gaspbpf/analyses
	install -d $(DESTDIR)$(prefix)/share/gaspbpf/examples
	install -m 644 $(wildcard examples/*.c) $(DESTDIR)$(prefix)/share/gaspbpf/examples
	install -d $(DESTDIR)$(prefix)/share/gaspbpf/monitor
	install -m 644 $(wildcard examples/monitor/*) service/gaspbpf.service service/gaspbpf.conf $(DESTDIR)$(prefix)/share/gaspbpf/monitor
	install -m 755 service/gaspbpf-generator $(DESTDIR)$(prefix)/share/gaspbpf/monitor
	install -d $(DESTDIR)$(pkgconfig)
	printf 'prefix=%s\nName: gaspbpf\nDescription: What GASP, PUPC, CPF and StarPU tools are compiled against\nVersion: $(VERSION)\nCflags: -I$${prefix}/include\n' \
		'$(prefix)' > $(DESTDIR)$(pkgconfig)/gaspbpf.pc

# What install would put there, it is asked; folders that are left empty go as well, if they are gaspbpf's own. What was
# written since (recordings, /etc/gaspbpf.conf) stays.
UNINSTALL := $(BUILD)/uninstall
OWN        = $(addprefix $(DESTDIR)$(prefix)/,share/gaspbpf libexec/gaspbpf share/doc/gaspbpf include/gaspbpf include/starpu-perf)

uninstall:
	$(Q)rm -rf $(UNINSTALL) && mkdir -p $(UNINSTALL)
	$(Q)$(MAKE) -s install DESTDIR='$(abspath $(UNINSTALL))' >/dev/null
	$(Q)cd $(UNINSTALL) && find . ! -type d -printf '%P\0' | sed -z 's|^|$(DESTDIR)/|' | xargs -0 rm -fv --
	$(Q)rm -rf $(UNINSTALL)
	$(Q)for folder in $(OWN); do [ ! -d "$$folder" ] || find "$$folder" -depth -type d -empty -delete; done
	@echo "recordings and /etc/gaspbpf.conf, if there is one, were left where they are"

# In a copy of the packaging, so that the checkout stays clean.
deb: all
	$(Q)rm -rf $(BUILD)/package && mkdir -p $(BUILD)/package && cp -r debian $(BUILD)/package
	$(Q)cd $(BUILD)/package && DEB_RULES_REQUIRES_ROOT=no TOP='$(abspath .)' debian/rules binary >$(abspath $(BUILD))/package.log 2>&1 || \
		{ cat $(abspath $(BUILD))/package.log >&2; false; }
	$(call say,DEB,$(BUILD)/gaspbpf_$(VERSION)_amd64.deb)true

clean:
	rm -rf $(BUILD) gaspbpf gaspbpf-toolhost

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/unit/*/*.d $(OBJECTS:.o=.d))
