# SPDX-License-Identifier: BSD-2-Clause
# Fuzzing (docs/fuzzing.md): the code of user/ once more, with sanitizers, and a program for each thing that others may write.
#
#   make fuzz                       each for FUZZ_SECONDS, two at a time
#   make fuzz FUZZ_SECONDS=3600     an hour of each
#   make fuzz FUZZ_TARGETS='elf http'
#   make fuzz-programs              builds them only

FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
FUZZ         := build/fuzz
FUZZ_CFLAGS  := $(SANITIZED) $(FUZZ_CFLAGS)
FUZZ_SOURCES := $(filter-out user/cli/main.c user/toolhost/%,$(SOURCES))
FUZZ_HOST    := $(patsubst user/%.c,$(FUZZ)/user/%.o,$(filter-out user/toolhost/main.c,$(filter user/toolhost/%,$(SOURCES))))
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,$(FUZZ)/%,$(wildcard tests/fuzz/*.c))
FUZZ_HELP    := $(patsubst tests/fuzz/%.c,$(FUZZ)/%.o,$(wildcard tests/fuzz/shared/*.c))

.PHONY: fuzz fuzz-programs

fuzz: fuzz-programs
	$(Q)tests/fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-programs: $(FUZZ_PROGRAMS) $(FUZZ)/tools/recordings $(BUILD)/tests/compose $(PUPC)

# what tests/fuzz/seeds.py needs
$(FUZZ)/tools/recordings: tests/fuzz/seeds/recordings.c $(BUILD)/unit/libshared.a $(LIBRARY)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(BUILD)/unit/libshared.a $(LIBRARY) -lcmocka $(LDLIBS)

$(FUZZ)/user/%.o: user/%.c | $(SKELS)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(FUZZ)/shared/%.o: tests/fuzz/shared/%.c | $(SKELS)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -Itests/fuzz $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(FUZZ)/libgaspbpf.a: $(FUZZ_SOURCES:user/%.c=$(FUZZ)/user/%.o) $(FUZZ_HELP)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The kernel is not there: what it would hand over comes from the input (shared/kernel.c). The host of tools ends by _exit().
$(FUZZ)/records $(FUZZ)/announced $(FUZZ)/control: FUZZ_LINK := -Wl,--wrap=kernel_control_fd -Wl,--wrap=epoll_ctl
$(FUZZ)/tool_pipe: FUZZ_LINK := -Wl,--wrap=_exit -rdynamic -lffi -ldl
$(FUZZ)/tool_pipe: FUZZ_OBJECTS := $(FUZZ_HOST)
$(FUZZ)/tool_pipe: $(FUZZ_HOST)

$(FUZZ)/%: tests/fuzz/%.c $(FUZZ)/libgaspbpf.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -Itests/fuzz $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $(FUZZ_OBJECTS) $(FUZZ)/libgaspbpf.a \
		$(FUZZ_LINK) $(LDLIBS)

-include $(wildcard $(FUZZ)/*.d $(FUZZ)/user/*/*.d $(FUZZ)/user/*/*/*.d $(FUZZ)/shared/*.d)
