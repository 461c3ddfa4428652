# make bench      builds and runs the measurements: see bench/README.md; BENCH="--quick --json" are its options
# make bench-programs   only builds what they observe

BENCH_DIR      := $(BUILD)/bench
BENCH_PROGRAMS := $(BENCH_DIR)/job $(BENCH_DIR)/empty $(BENCH_DIR)/generate

.PHONY: bench bench-programs
bench: gaspbpf bench-programs
	$(Q)/usr/bin/python3 bench/bench.py $(BENCH)

bench-programs: $(BENCH_PROGRAMS)

# Not optimised across its loops: a malloc that is freed at once must stay a call.
$(BENCH_DIR)/job: bench/job.c bench/sites.S
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fno-builtin -pthread -o $@ $^

$(BENCH_DIR)/empty: bench/empty.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -O2 -g -std=gnu11 -Wall -Wextra -o $@ $^

$(BENCH_DIR)/generate: bench/generate.c $(LIBRARY)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIBRARY) $(LDLIBS)
