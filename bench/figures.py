# SPDX-License-Identifier: BSD-2-Clause
"""Which of the figures that are measured here stand in the documents, and in which words. scripts/figures puts them
there."""

# name: (unit, part, row, column), the median there; a row that ends in * may go on in any way. Or (unit, how it follows
# from others). times: a bare number; 1/: so much less; count: exact.
FIGURES = {
    "span.none": ("ns", "span", "unobserved", "session"),
    "span.empty": ("ns", "span", "empty pair", "session"),
    "span.one": ("ns", "span", "gaspbpf, 1 argument", "session"),
    "span.six": ("ns", "span", "gaspbpf, 6 arguments and the result", "session"),
    "span.one.ratio": ("times", "(span.one - span.none) / (span.empty - span.none)"),
    "span.six.ratio": ("times", "(span.six - span.none) / (span.empty - span.none)"),

    "malloc": ("ns", "pairs", "gaspbpf", "malloc+free"),
    "malloc.bpftrace": ("ns", "pairs", "bpftrace uprobe+uretprobe at +0", "malloc+free"),
    "malloc.perf": ("ns", "pairs", "perf record at +0", "malloc+free"),
    "malloc.bpftrace.ratio": ("1/", "malloc.bpftrace / malloc"),
    "malloc.perf.ratio": ("1/", "malloc.perf / malloc"),
    "lock": ("ns", "pairs", "gaspbpf", "lock+unlock"),
    "lock.bpftrace": ("ns", "pairs", "bpftrace uprobe+uretprobe at +0", "lock+unlock"),
    "lock.perf": ("ns", "pairs", "perf record at +0", "lock+unlock"),
    "lock.bpftrace.ratio": ("1/", "lock.bpftrace / lock"),
    "lock.perf.ratio": ("1/", "lock.perf / lock"),

    "mpi": ("ns", "mpi", "gaspbpf", "added"),
    "mpi.registers": ("ns", "mpi", "gaspbpf, only what is in registers", "added"),
    "mpi.bpftrace": ("ns", "mpi", "bpftrace uprobe+uretprobe", "added"),
    "mpi.eztrace": ("ns", "mpi", "EZTrace, started under it", "added"),
    "mpi.uftrace": ("ns", "mpi", "uftrace, started under it", "added"),
    "mpi.ratio": ("times", "mpi / mpi.bpftrace"),

    "starpu": ("ns", "starpu", "gaspbpf, four probes", "added"),
    "starpu.bpftrace": ("ns", "starpu", "bpftrace, four probes", "added"),
    "starpu.empty": ("ns", "starpu", "empty, four probes", "added"),
    "starpu.ratio": ("times", "starpu / starpu.bpftrace"),
    "starpu.all": ("ns", "starpu", "gaspbpf, all", "added"),
    "starpu.all.bpftrace": ("ns", "starpu", "bpftrace, all", "added"),
    "starpu.all.functions": ("count", "starpu", "gaspbpf, all", "functions"),
    "starpu.all.ratio": ("times", "starpu.all / starpu.all.bpftrace"),

    "rate": ("/s", "rate", "60 s, *", "spans/s"),
    "cpu": ("ns", "cpu", "live", "ns a span"),
    "cpu.recording": ("ns", "cpu", "with a recording (-o)", "ns a span"),

    "bytes.mpi": ("bytes", "bytes", "gaspbpf", "MPI mix"),
    "bytes.mpi.perf": ("bytes", "bytes", "perf record", "MPI mix"),
    "bytes.mpi.uftrace": ("bytes", "bytes", "uftrace", "MPI mix"),
    "bytes.mpi.eztrace": ("bytes", "bytes", "EZTrace", "MPI mix"),
    "bytes.mpi.lttng": ("bytes", "bytes", "LTTng-UST", "MPI mix"),
    "bytes.malloc": ("bytes", "bytes", "gaspbpf", "malloc mix"),
    "bytes.malloc.perf": ("bytes", "bytes", "perf record", "malloc mix"),
    "bytes.malloc.uftrace": ("bytes", "bytes", "uftrace", "malloc mix"),
    "bytes.malloc.eztrace": ("bytes", "bytes", "EZTrace", "malloc mix"),
    "bytes.malloc.lttng": ("bytes", "bytes", "LTTng-UST", "malloc mix"),

    "start.first": ("ms", "start", "-p PID", "to start"),
    "start.end": ("ms", "start", "-p PID", "to end"),
    "start.true": ("ms", "start", "-- true", "all"),
    "start.true.cpu": ("ms", "start", "-- true", "CPU"),
    "start.new": ("ms", "start", "-- true, nothing measured yet", "all"),
    "start.new.cpu": ("ms", "start", "-- true, nothing measured yet", "CPU"),

    "attach.functions": ("count", "attach", "session", "functions"),
    "attach": ("ms", "attach", "session", "attach"),
    "detach": ("ms", "attach", "session", "detach"),
    "attach.few": ("count", "attach", "bpftrace", "functions"),
    "detach.bpftrace": ("ms", "attach", "bpftrace", "to end"),
    "detach.perf": ("ms", "attach", "perf record", "to end"),

    "scope.one": ("ns", "scope", "session, process", "1 observed"),
    "scope.many": ("ns", "scope", "session, process", "64 observed"),
    "scope.many.file": ("ns", "scope", "session, file", "64 observed"),

    "report.rate": ("M/s", "export", "mpi 50 M", "report M/s"),
    "report.memory": ("MB", "export", "mpi 50 M", "report MB"),
    "chrome.rate": ("M/s", "export", "mpi 50 M", "export M/s"),
    "chrome.memory": ("MB", "export", "mpi 50 M", "export MB"),
    "simulate.rate": ("M/s", "simulate", "mpi 10 M", "M/s"),
    "simulate.memory": ("MB", "simulate", "mpi 10 M", "MB"),

    "monitor.0": ("%", "monitor", "0 calls/s", "gaspbpf, % CPU"),
    "monitor.10k": ("%", "monitor", "10,000 calls/s", "gaspbpf, % CPU"),
    "monitor.100k": ("%", "monitor", "100,000 calls/s", "gaspbpf, % CPU"),
    "monitor.1m": ("%", "monitor", "1,000,000 calls/s", "gaspbpf, % CPU"),
    "monitor.limit.0": ("%", "monitor", "0 calls/s, limit 1%", "gaspbpf, % CPU"),
    "monitor.limit.10k": ("%", "monitor", "10,000 calls/s, limit 1%", "gaspbpf, % CPU"),
    "monitor.limit.100k": ("%", "monitor", "100,000 calls/s, limit 1%", "gaspbpf, % CPU"),
    "monitor.limit.1m": ("%", "monitor", "1,000,000 calls/s, limit 1%", "gaspbpf, % CPU"),
    "monitor.sum": ("ns", "monitor", "as a sum", "ns"),
    "monitor.span": ("ns", "monitor", "as a span, report at the end", "ns"),
    "monitor.sum.ratio": ("times", "monitor.sum / monitor.span"),
    "monitor.memory": ("KiB", "monitor", "gaspbpf with one process", "KiB"),
    "monitor.memory.process": ("KiB", "monitor", "more for each process with one event", "KiB"),
    "monitor.memory.kernel": ("KiB", "monitor", "kernel, for each thread and function called", "KiB"),
    "monitor.new": ("ms", "monitor", "a file that is new", "blind, ms"),
    "monitor.known": ("count", "monitor", "a file that is known", "calls missed"),
    "monitor.cycles": ("count", "monitor", "processes", "after"),
    "monitor.cycles.before": ("KiB", "monitor", "resident, KiB", "before"),
    "monitor.cycles.after": ("KiB", "monitor", "resident, KiB", "after"),
    "monitor.files.before": ("count", "monitor", "descriptors", "before"),
    "monitor.files.after": ("count", "monitor", "descriptors", "after"),
    "monitor.entries.before": ("count", "monitor", "entries in the kernel", "before"),
    "monitor.entries.after": ("count", "monitor", "entries in the kernel", "after"),

    "flight": ("ns", "flight", "--flight", "ns"),
    "flight.trigger": ("ns", "flight", "--flight, a trigger", "ns"),
    "flight.without": ("ns", "flight", "report at the end", "ns"),
    "flight.ratio": ("times", "flight / flight.without"),
    "flight.cpu": ("ns", "flight", "--flight, 100,000 calls/s", "ns a call"),
    "flight.cpu.1m": ("ns", "flight", "--flight, 1,000,000 calls/s", "ns a call"),
    "flight.empty": ("MiB", "flight", "256m: before the first call", "MiB"),
    "flight.full": ("MiB", "flight", "256m: full", "MiB"),
    "flight.memory": ("MiB", "flight.full - flight.empty"),
    "flight.dump.seconds": ("s", "flight", "256m: after a dump", "s"),
    "flight.dump": ("MiB", "flight", "256m: after a dump", "MiB written"),

    "top.100k": ("%", "top", "1 process, 100,000 calls/s", "% CPU"),
    "top.1m": ("%", "top", "1 process, 1,000,000 calls/s", "% CPU"),
    "top.many": ("%", "top", "64 processes, 100,000 calls/s", "% CPU"),
}

# name: (part, its targets, whose aim stands in the parentheses); missed where one of them is
AIMS = {
    "span.one": ("span", r"\w+: a span with 1 argument at most ([\d.]+) times"),
    "span.six": ("span", r"\w+: a span with 6 arguments and the result at most ([\d.]+) times"),
    "malloc": ("pairs", r"malloc\+free under gaspbpf at most (1/\d+) of"),
    "lock": ("pairs", r"lock\+unlock under gaspbpf at most (1/\d+) of"),
    "mpi": ("mpi", r"gaspbpf adds at most ([\d.]+) of"),
    "starpu": ("starpu", r"four probes: gaspbpf adds at most ([\d.]+) of"),
    "starpu.all": ("starpu", r"all: gaspbpf adds at most ([\d.]+) of"),
    "rate": ("rate", r"60 s without loss at no less than (\d+ M spans/s)"),
    "cpu": ("cpu", r"live: at most (\d+ ns)"),
    "cpu.recording": ("cpu", r"with a recording \(-o\): at most (\d+ ns)"),
    "bytes": ("bytes", r".* mix: at most (\d+) bytes"),
    "bytes.smallest": ("bytes", r".* mix: (the smallest)"),
    "start.first": ("start", r"its first probes in at most (\d+ ms)"),
    "start.end": ("start", r"its end in at most (\d+ ms)"),
    "attach": ("attach", r"\w+: \w+ in at most (\d+ ms)"),
    "scope": ("scope", r"session, file scope: 64 processes at most ([\d.]+) times"),
    "report.rate": ("export", r"report: at least (\d+ M spans/s)"),
    "report.memory": ("export", r"report: below (\d+ MB)"),
    "chrome.rate": ("export", r"export: at least (\d+ M spans/s)"),
    "chrome.memory": ("export", r"export: below (\d+ MB)"),
    "simulate.rate": ("simulate", r"at least ([\d.]+ M calls/s)"),
    "simulate.memory": ("simulate", r"memory does not grow with calls: (at most \d+ MB)"),
}

# What stands between <!-- figures: NAME --> and <!-- /figures --> in the documents. {name}: a figure with its unit;
# {name:bare}: without; {aim:name}: "1/4", "1.15: missed"; {run:...}: of the machine. A line that is no row of a table
# is broken to the width of a page.
BLOCKS = {
    "readme": """\
| {run:cpus} of an {run:cpu}{run:virtual}, {run:date} | gaspbpf | others |
|---|---|---|
| `malloc` and `free`, both calls | {malloc} | bpftrace {malloc.bpftrace}, perf {malloc.perf} |
| lock and unlock, both calls | {lock} | bpftrace {lock.bpftrace}, perf {lock.perf} |
| `MPI_Sendrecv`, 15 values read | {mpi} | bpftrace, none read: {mpi.bpftrace}; EZTrace, inside: {mpi.eztrace} |
| on disk, a call of MPI / malloc | {bytes.mpi:bare} / {bytes.malloc} | \
perf {bytes.mpi.perf}, LTTng-UST {bytes.mpi.lttng} |
| `monitor` at 100 k calls/s, own CPU; with its limit | {monitor.100k}; {monitor.limit.100k} of one | |
""",
    "run": """\
Measured {run:date} on {run:cpus} of an {run:cpu}{run:virtual}, {run:software}; commit {run:commit}.
""",
    "start": """\
| command | first probes | from `^C` to the end | in all | processor time |
|---|---|---|---|---|
| `gaspbpf -p PID` | {start.first} (aim {aim:start.first}) | {start.end} (aim {aim:start.end}) | | |
| `gaspbpf -- true` | | | {start.true} | {start.true.cpu} |
| the same, where no earlier start has measured what probes cost | | | {start.new} | {start.new.cpu} |
""",
    "cost": """\
| measure | gaspbpf | against | ratio | aim |
|---|---|---|---|---|
| a call with one argument, on a `push` | {span.one} | an empty pair of probes: {span.empty} | {span.one.ratio} | \
{aim:span.one} |
| the same with six arguments and the result | {span.six} | {span.empty} | {span.six.ratio} | {aim:span.six} |
| `malloc` + `free`, arguments and result | {malloc} | bpftrace {malloc.bpftrace}, perf {malloc.perf} | \
{malloc.bpftrace.ratio}, {malloc.perf.ratio} | {aim:malloc} |
| lock + unlock | {lock} | bpftrace {lock.bpftrace}, perf {lock.perf} | {lock.bpftrace.ratio}, {lock.perf.ratio} | \
{aim:lock} |
| `MPI_Sendrecv` to self, 15 values (added time) | {mpi}; registers only {mpi.registers} | bpftrace, times only: \
{mpi.bpftrace} | {mpi.ratio} | {aim:mpi} |
| | | EZTrace {mpi.eztrace}, uftrace {mpi.uftrace} (inside the process) | | |
| StarPU, empty task, four probes (added time) | {starpu} | bpftrace {starpu.bpftrace}, empty probes {starpu.empty} | \
{starpu.ratio} | {aim:starpu} |
| StarPU, empty task, all {starpu.all.functions} functions that it meets (added time) | {starpu.all} | bpftrace \
{starpu.all.bpftrace} | {starpu.all.ratio} | {aim:starpu.all} |
| a call, 64 processes observed | {scope.many}, each with probes of its own; {scope.many.file}, one for all | \
one process: {scope.one} | | one for all: {aim:scope} |
| calls without loss, 2 threads, 60 s, default rings | {rate} | | | {aim:rate} |
| gaspbpf's own CPU for a call, live / with `-o` | {cpu} / {cpu.recording} | | | {aim:cpu} / {aim:cpu.recording} |
| bytes a call on disk, MPI / malloc mix | {bytes.mpi:bare} / {bytes.malloc:bare} | \
perf {bytes.mpi.perf:bare} / {bytes.malloc.perf:bare}, uftrace {bytes.mpi.uftrace:bare} / {bytes.malloc.uftrace:bare}, \
EZTrace {bytes.mpi.eztrace:bare} / {bytes.malloc.eztrace:bare}, \
LTTng-UST {bytes.mpi.lttng:bare} / {bytes.malloc.lttng:bare} | | {aim:bytes}; {aim:bytes.smallest} |
| {attach.functions} functions: attach / detach | {attach} / {detach} | \
to the end, with only {attach.few}: bpftrace {detach.bpftrace}, perf {detach.perf} | | {aim:attach} |
| report of 50 M spans | {report.rate}, {report.memory} | | | {aim:report.rate}; {aim:report.memory} |
| Chrome export of them | {chrome.rate}, {chrome.memory} | | | {aim:chrome.rate}; {aim:chrome.memory} |
| simulation of 10 M calls | {simulate.rate}, {simulate.memory} | | | \
{aim:simulate.rate}; growth {aim:simulate.memory} |
| `monitor`: its own CPU at 0 / 10 k / 100 k / 1 M calls/s | \
{monitor.0:bare} / {monitor.10k:bare} / {monitor.100k:bare} / {monitor.1m} of one | with the limit of 1 %: \
{monitor.limit.0:bare} / {monitor.limit.10k:bare} / {monitor.limit.100k:bare} / {monitor.limit.1m} | | |
| `monitor`: a call, summed up in the kernel | {monitor.sum} | as a span: {monitor.span} | {monitor.sum.ratio} | |
| `monitor`: memory | {monitor.memory}, {monitor.memory.process} for each process, \
{monitor.memory.kernel} in the kernel for each thread and function | | | |
| `monitor`: from mapping a runtime to the first counted call | {monitor.new} if nobody has met the file before | \
else from the first instruction: {monitor.known} calls missed | | |
| `monitor`: {monitor.cycles} processes that come and go | \
{monitor.cycles.after}, {monitor.files.after} descriptors, {monitor.entries.after} entries in the kernel | \
before: {monitor.cycles.before}, {monitor.files.before}, {monitor.entries.before} | | |
| `--flight`: a call | {flight}; with a trigger {flight.trigger} | without: {flight.without} | {flight.ratio} | |
| `--flight`: gaspbpf's own CPU for a call, at 100 k / 1 M calls/s | {flight.cpu} / {flight.cpu.1m} | | | |
| `--flight 1h,256m`, full | {flight.memory} more; a dump of it: {flight.dump} in {flight.dump.seconds} | | | |
| `top`: its own CPU at 100 k / 1 M calls/s | {top.100k:bare} / {top.1m} of one | \
64 processes, 100 k calls/s: {top.many} | | |
""",
}


def parts():
    """The parts of bench.py that all these are from."""
    return {source[1] for source in FIGURES.values() if len(source) > 2} | {part for part, _ in AIMS.values()}
