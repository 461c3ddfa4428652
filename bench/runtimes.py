# SPDX-License-Identifier: BSD-2-Clause
"""A full span against an empty probe, and what real runtimes cost: MPI_Sendrecv to self, StarPU's empty tasks."""
import pathlib
import re
import tempfile

import observers
from costs import EMPTY_PAIRS, SITE_MODEL, private_library, run_rows
from joining import absent_table
from launched import Eztrace, Uftrace
from measure import Absent, BUILD, Job, TOP
from observers import Bpftrace, Empty, Gaspbpf, Nobody
from tables import Table

SPAN_FACTOR = 1.15    # a span at most so many times an empty pair
MPI_FACTOR = 0.83     # at most that share of what bpftrace adds
STARPU_FACTOR = 0.6   # at most that share of what bpftrace adds
SIX_MODEL = ["--model-file", TOP / "bench" / "six.model", "-m", "six"]
MPI_JOB, STARPU_JOB = BUILD / "mpi_job", BUILD / "starpu_job"

# One rank, started by itself; shared memory only, so that no network is looked for.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
                   "OMPI_MCA_pml": "ob1", "OMPI_MCA_ess_singleton_isolated": "1",
                   "OMPI_MCA_hwloc_base_binding_policy": "none"}


def added(table, label, column, base="unobserved"):
    """How much longer it takes than unobserved, or None."""
    observed, alone = table.get(label, column), table.get(base, column)
    return None if observed is None or alone is None else observed - alone


def judge(table, what, own, theirs, factor, unit="ns"):
    """own at most factor x theirs."""
    if own is None or theirs is None:
        table.target(what, "one of them is not available", None)
    else:
        table.target(what, f"{own / theirs:.2f} ({own:,.0f} {unit}, {theirs:,.0f} {unit})", own <= factor * theirs)


# --- span

def span(options, progress):
    rungs = [rung for rung in observers.RUNGS[:2] if rung in options.rungs]
    table = Table("Span: a full one against an empty probe pair at the same place", rungs or ["session"],
                  "ns for a call",
                  "site_push, whose probe is on a push that the kernel emulates. Empty: BPF programs that return at "
                  "once, at the call and at the return. gaspbpf: times, call site, arguments, sequence, exact counts; "
                  "1 argument, or 6 and the result.", label=44)
    with Job() as job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        small, = observers.places_in(job, ["site_push"], *SITE_MODEL)
        large, = observers.places_in(job, ["site_push"], *SIX_MODEL)
        rows = {
            "unobserved": lambda rung: Nobody(job, [small]),
            "empty pair": lambda rung: Empty(job, [small], EMPTY_PAIRS[rung]),
            "gaspbpf, 1 argument": lambda rung: Gaspbpf(job, [small], SITE_MODEL, rung),
            "gaspbpf, 6 arguments and the result": lambda rung: Gaspbpf(job, [large], SIX_MODEL, rung),
            "gaspbpf, 1 argument, with a recording (-o)":
                lambda rung: Gaspbpf(job, [small], [*SITE_MODEL, "-o", f"{folder}/run.gasp"], rung),
        }
        for rung in rungs:
            bound = {label: lambda make=make: make(rung) for label, make in rows.items()}
            run_rows(table, job, bound, {"site_push": rung}, {"site_push": ["site_push"]}, options, progress)
    for rung in rungs:
        for which in ("1 argument", "6 arguments and the result"):
            judge(table, f"{rung}: a span with {which} at most {SPAN_FACTOR} times an empty pair",
                  added(table, f"gaspbpf, {which}", rung), added(table, "empty pair", rung), SPAN_FACTOR)
    return table


# --- MPI

def private_mpi():
    """What a job needs to map a copy of Open MPI's library, which nobody else maps."""
    with Job(MPI_JOB, **MPI_ENVIRONMENT) as job:
        return {**MPI_ENVIRONMENT, "LD_LIBRARY_PATH": str(private_library(job, "libmpi.so.40"))}


def registers_only(folder):
    """A model of MPI_Sendrecv without what must be read from the job's memory: what do those reads cost? Options."""
    model = pathlib.Path(folder) / "registers.model"
    model.write_text("model registers\nlanguage REGISTERS\nlibrary libmpi.so*\n"
                     "SENDRECV exchange int MPI_Sendrecv(const void *sendbuf, int sendcount, void *sendtype, int dest, "
                     "int sendtag, void *recvbuf)\n", encoding="ascii")
    return ["--model-file", model, "-m", "registers"]


def mpi(options, progress):
    title = "MPI_Sendrecv of one int to self, Open MPI"
    try:
        environment = private_mpi()
    except Absent as reason:
        return absent_table(title, "ns", reason)
    table = Table(title, ["a call", "added"], "ns",
                  "One rank. gaspbpf and bpftrace join the running job; EZTrace (preloaded, all of "
                  "MPI, with arguments) and uftrace (calls through the PLT, no arguments) must start it themselves, "
                  "and their traps are function calls inside the process. 'added' is against the unobserved job.",
                  label=44)
    with Job(MPI_JOB, **environment) as job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        places = observers.places_in(job, ["MPI_Sendrecv"], "-m", "mpi")
        registers = registers_only(folder)
        plain = observers.places_in(job, ["MPI_Sendrecv"], *registers)
        table.note(f"gaspbpf's place: MPI_Sendrecv +{places[0].probe - places[0].start}; bpftrace's: +0")
        rows = {
            "unobserved": lambda: Nobody(job, places),
            "gaspbpf": lambda: Gaspbpf(job, places, ["-m", "mpi"]),
            "gaspbpf, with a recording (-o)": lambda: Gaspbpf(job, places, ["-m", "mpi", "-o", f"{folder}/run.gasp"]),
            "gaspbpf, only what is in registers": lambda: Gaspbpf(job, plain, registers),
            "bpftrace uprobe+uretprobe": lambda: Bpftrace(job, places),
            "EZTrace, started under it": lambda: Eztrace(MPI_JOB, "openmpi", **environment),
            "uftrace, started under it": lambda: Uftrace(MPI_JOB, **environment),
        }
        run_rows(table, job, rows, {"sendrecv": "a call"}, {"sendrecv": ["MPI_Sendrecv"]}, options, progress)
    fill_added(table, "a call")
    for label in ("gaspbpf", "gaspbpf, with a recording (-o)"):
        judge(table, f"{label} adds at most {MPI_FACTOR} of what bpftrace adds", added(table, label, "a call"),
              added(table, "bpftrace uprobe+uretprobe", "a call"), MPI_FACTOR)
    return table


def fill_added(table, column):
    for label in table.rows:
        more = added(table, label, column)
        if more is not None and label != "unobserved":
            table.add(label, "added", round(more))


# --- StarPU

FOUR = ("starpu_task_submit", "_starpu_driver_start_job", "_starpu_driver_end_job")


def four_probes(folder, name="four", values=True):
    """gaspbpf's model of StarPU with no more than the submission and the execution of tasks, or without what they read
    of memory: options."""
    text = (TOP / "models" / "starpu.model").read_text(encoding="utf-8")
    text = text.replace("model    starpu", f"model    {name}").replace("language STARPU", f"language {name.upper()}")

    def kept(function):
        function = function[0]
        if not any(f" {wanted}(" in function for wanted in FOUR):
            return ""
        return function if values else re.sub(r" @\w+\(\w+\)", "", function)

    # A statement that describes a function begins with its event, in capitals; its further lines are indented.
    text = re.sub(r"^[A-Z].*\n(?:[ \t]+.*\n)*", kept, text, flags=re.MULTILINE)
    model = pathlib.Path(folder) / f"{name}.model"
    model.write_text(text, encoding="utf-8")
    return ["--model-file", model, "-m", name]


class EmptyTasks(Empty):
    """Programs that return at once at the four places: a session link for what has a return, one for calls alone for
    the rest."""

    def __init__(self, job, places, spans):
        super().__init__(job, [place for place in places if place.function in spans], "session")
        self.alone = Empty(job, [place for place in places if place.function not in spans], "multi")

    def start(self):
        self.alone.start()
        super().start()

    def stop(self):
        super().stop()
        self.alone.stop()


class BpftraceTasks(Bpftrace):
    """What gaspbpf sees of a task: times of the execution, of calls with a return; the others are counted."""

    def __init__(self, job, places, spans):
        super().__init__(job, places)
        self.spans = spans  # names of functions whose returns are seen

    def script(self):
        file = self.places[0].file
        yield (f"uprobe:{file}:_starpu_driver_start_job {{ @began[tid] = nsecs; }}\n"
               f"uprobe:{file}:_starpu_driver_end_job /@began[tid]/ {{\n"
               f"  @_starpu_driver_start_job = hist(nsecs - @began[tid]); delete(@began[tid]); }}\n")
        for place in self.places:
            if place.function in self.spans:
                yield self.latency(place)
            elif not place.function.startswith("_starpu_driver_"):
                yield f"uprobe:{place.file}:{place.function} {{ @{place.function} = hist(1); }}\n"


def hit_by_tasks(job, *options):
    """The functions that gaspbpf sees at each task, and those of them whose returns it sees."""
    rows = observers.gaspbpf_json("list", "-p", job.pid, "--json", *options)["found"]
    places = [observers.Place(row["file"], row["symbol"], row["event"], row["offset"], row["probe_offset"])
              for row in rows]
    with Gaspbpf(job, places, options) as observer:
        job.loop("tasks", 100, 1)
    counted = {row["name"]: row["calls"] for row in observer.report["events"]}
    hit = [place for place in places if counted.get(place.event, 0) >= 100]
    seen = {row["symbol"] for row in rows if row["returns"] in ("trampoline", "sites")}
    return hit, [place.function for place in hit if place.function in seen]


def starpu(options, progress):
    title = "StarPU: an empty task"
    home = BUILD / "starpu"
    home.mkdir(exist_ok=True)
    try:
        job = Job(STARPU_JOB, STARPU_HOME=str(home), STARPU_NCPU="1", STARPU_NOPENCL="0", STARPU_NCUDA="0",
                  STARPU_SILENT="1", STARPU_WORKERS_NOBIND="1", STARPU_HOSTNAME="bench")
    except Absent as reason:
        return absent_table(title, "ns", reason)
    table = Table(title, ["a task", "added", "functions"], "ns",
                  "As StarPU's tasks_overhead: tasks without data and without work "
                  "are submitted and waited for; one worker. Four probes: the submission's call and return, the "
                  "execution's begin and end. All: every function of the model that a task meets.", label=44)
    with job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        models = {"four probes": four_probes(folder), "all": ["-m", "starpu"]}
        bare = four_probes(folder, "bare", values=False)
        rows = {"unobserved": lambda: Nobody(job, [])}
        functions = {}
        for which, model in models.items():
            hit, spans = hit_by_tasks(job, *model)
            functions[which] = [place.function for place in hit]
            table.note(f"{which}: "
                       f"{', '.join(name + (' and its return' if name in spans else '') for name in functions[which])}")
            spans = sorted({*spans, "starpu_task_submit"})  # four probes are four, however gaspbpf sees the return
            rows[f"gaspbpf, {which}"] = lambda hit=hit, model=model: Gaspbpf(job, one_each(hit), model)
            if which == "four probes":
                rows[f"gaspbpf, {which}, only registers"] = lambda: Gaspbpf(job, one_each(hit_by_tasks(job, *bare)[0]),
                                                                            bare)
            rows[f"empty, {which}"] = lambda hit=hit, spans=spans: EmptyTasks(job, hit, spans)
            rows[f"bpftrace, {which}"] = lambda hit=hit, spans=spans: BpftraceTasks(job, hit, spans)
        for turn in range(options.passes):
            for label, make in rows.items():
                which = which_probes(label)
                wanted = [name for name in functions.get(which, []) if name != "_starpu_driver_end_job"]
                run_rows(table, job, {label: make}, {"tasks": "a task"}, {"tasks": wanted}, options, progress, 1,
                         round_ns=20_000_000)
        for label in rows:
            if not isinstance(table.rows[label], str):
                table.add(label, "functions", len(functions.get(which_probes(label), [])))
    fill_added(table, "a task")
    for which in models:
        judge(table, f"{which}: gaspbpf adds at most {STARPU_FACTOR} of what bpftrace adds",
              added(table, f"gaspbpf, {which}", "a task"), added(table, f"bpftrace, {which}", "a task"), STARPU_FACTOR)
        judge(table, f"{which}: the floor: what empty programs at the same places add, against bpftrace's",
              added(table, f"empty, {which}", "a task"), added(table, f"bpftrace, {which}", "a task"), STARPU_FACTOR)
    return table


def which_probes(label):
    return (label.split(", ") + [""])[1]


def one_each(places):
    """Without those that only end what another begins: gaspbpf's counts are by event."""
    return [place for place in places if place.function != "_starpu_driver_end_job"]
