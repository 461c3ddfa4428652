# SPDX-License-Identifier: BSD-2-Clause
# make bench      builds and runs the measurements: see bench/README.md; BENCH="--quick --json" are its options
# make bench-programs   only builds what they observe; jobs of runtimes that are not installed are left out

BENCH_DIR      := $(BUILD)/bench
BENCH_MPICC    := $(shell command -v mpicc.openmpi)
BENCH_STARPU   := $(shell pkg-config --exists starpu-1.3 2>/dev/null && echo starpu-1.3)
BENCH_PROGRAMS := $(BENCH_DIR)/job $(BENCH_DIR)/empty $(BENCH_DIR)/generate
BENCH_PROGRAMS += $(if $(BENCH_MPICC),$(BENCH_DIR)/mpi_job $(BENCH_DIR)/mpi_job_instrumented)
BENCH_PROGRAMS += $(if $(BENCH_STARPU),$(BENCH_DIR)/starpu_job)
# -fno-builtin: a malloc that is freed at once must stay a call.
BENCH_CFLAGS   := -D_GNU_SOURCE -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fno-builtin -pthread

.PHONY: bench bench-programs
bench: gaspbpf bench-programs
	$(Q)/usr/bin/python3 bench/bench.py $(BENCH)

bench-programs: $(BENCH_PROGRAMS)

$(BENCH_DIR)/job: bench/job.c bench/loops.c bench/sites.S bench/loops.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(BENCH_CFLAGS) -o $@ $(filter-out %.h,$^)

# Calls of libraries go through the PLT, where uftrace meets them.
$(BENCH_DIR)/mpi_job: bench/mpi_job.c bench/loops.c bench/loops.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(BENCH_MPICC) $(BENCH_CFLAGS) -Wl,-z,lazy -o $@ $(filter-out %.h,$^)

$(BENCH_DIR)/mpi_job_instrumented: bench/mpi_job.c bench/loops.c bench/loops.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(BENCH_CFLAGS) -c -o $(BENCH_DIR)/loops.o bench/loops.c
	$(Q)$(BENCH_MPICC) $(BENCH_CFLAGS) -DINSTRUMENTED -finstrument-functions -o $@ bench/mpi_job.c $(BENCH_DIR)/loops.o

$(BENCH_DIR)/starpu_job: bench/starpu_job.c bench/loops.c bench/loops.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(BENCH_CFLAGS) $$(pkg-config --cflags starpu-1.3 | sed 's/-I/-isystem /g') -o $@ $(filter-out %.h,$^) \
		$$(pkg-config --libs starpu-1.3)

$(BENCH_DIR)/empty: bench/empty.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -O2 -g -std=gnu11 -Wall -Wextra -o $@ $^

$(BENCH_DIR)/generate: bench/generate.c $(LIBRARY)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIBRARY) $(LDLIBS)
