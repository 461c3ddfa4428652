# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that return probes kill (tests/workloads/harm): observed by default options they run as they do alone, and what
they say of their own calls and returns is what gaspbpf says."""
import collections
import json
import re
import shutil
import subprocess

import pytest

import gaspbpf
import truth

HARM = gaspbpf.WORKLOADS / "harm"

# A perf event takes its time to remove: no model's functions there but those that a test is about.
RUNGS = {"session": [], "multi": [], "perf": ["-m", "user"]}  # there are no such functions
COMPILED = ["O0", "O1", "O2", "O3", "Os", "clang", "clang_stripped"]

# What each function returns for its arguments: a return that was taken for another call's would not agree.
EXCEPTIONS = {
    "long shallow(long n) ->": lambda n: 2 * n,
    "long deep(long depth, long n) ->": lambda depth, n: n + depth,
    "long again(long n) ->": lambda n: 2 * (n + 3),
    "long translate(long n) ->": lambda n: 4 * n,
    "long partly(long n) ->": lambda n: 2 * n,
    "long split(long n) ->": lambda n: -2 * n if n % 4 == 1 else 2 * n,
    "long swallow(long n) ->": lambda n: n + 24,
}
CANCEL = {
    "long wait_for_news(long how) ->": lambda how: how,
    "long hold(long depth, long how) ->": lambda depth, how: how + depth + 1,
    "long leave_thread(long n) ->": lambda n: n,
    "long join_other(unsigned long other)": None,
}
FIBERS = {
    "long turn(long who, long n) ->": lambda who, n: who * 1000 + n,
    "long once(long who, long n) ->": lambda who, n: who * 100 + n,
}
JUMPS = {
    "long nest(long depth, long how) ->": lambda depth, how: depth * (depth + 1) // 2,
    "long handle(long depth) ->": lambda depth: depth + 1,
    "void left(long depth)": None,
}
BACKTRACES = {"long climb(long depth, long how) ->": None, "long look(long how) ->": None}
FILTERED = {"long padded(long n) ->": lambda n: 3 * n, "long plain(long n) ->": lambda n: 5 * n}
PANICS = {
    "long risky(long n) ->": lambda n: (n % 4 + 1) * n,
    "long deep(long depth, long n) ->": lambda depth, n: (n % 4 + 1) * n + depth + 1,
    "long again(long n) ->": lambda n: (n % 4 + 1) * n + 4,
}

# name: program, arguments, functions
JOBS = {f"exceptions {how}": (f"exceptions_{how}", [], EXCEPTIONS) for how in COMPILED}
JOBS |= {
    "cancel": ("cancel", [], CANCEL),
    "fibers": ("fibers", ["--fibers", "10"], FIBERS),
    "fibers that change threads": ("fibers", ["--fibers", "10", "--workers", "2"], FIBERS),
    "own fibers": ("fibers_own", ["--fibers", "10"], FIBERS),
    "own fibers beside the thread pointer": ("fibers_own", ["--fibers", "10", "--beside", "1"], FIBERS),
    "own fibers that change threads": ("fibers_own", ["--fibers", "10", "--workers", "2"], FIBERS),
    "jumps": ("jumps", [], JUMPS),
    "backtraces": ("backtraces", [], BACKTRACES),
    "filtered": ("filtered", [], FILTERED),
    "panics": ("panics", [], PANICS),
}
# Those that show the harm when their returns are observed by return probes.
HARMED = ["exceptions O0", "exceptions O2", "exceptions clang", "cancel", "fibers", "fibers that change threads",
          "own fibers", "own fibers that change threads", "backtraces", "panics"]

# Each on every rung; of the exceptions one for all on the slowest.
RUNS = [(name, rung) for name in JOBS for rung in RUNGS if rung != "perf" or not name.startswith("exceptions")
        or name.endswith("O2")]

Seen = collections.namedtuple("Seen", "told report ends results")


def probing(functions):
    return [option for prototype in functions for option in ("-e", prototype)]


def symbol(prototype):
    return re.search(r"(\w+)\(", prototype)[1]


def words(output):
    """What a job tells, without what differs from run to run."""
    return [line for line in output.splitlines() if line and not line.startswith("ready ")]


def functions_told(lines):
    """{function: (calls, returns)}."""
    told = [re.fullmatch(r"function (\S+) calls (\d+) returns (\d+)", line) for line in lines]
    return {line[1]: (int(line[2]), int(line[3])) for line in told if line}


def alone(command):
    """What a job tells when nobody looks: its lines and its exit status."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    return words(result.stdout), result.returncode


def read(told, recording):
    """What a recording says of each event: how its calls ended, and (arguments, result) of those that returned."""
    listing = recording.with_suffix(".events")
    assert gaspbpf.run("export", recording, "-o", listing).returncode == 0
    report = json.loads(gaspbpf.run("report", recording, "--json").stdout)
    ends, results = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for line in listing.read_text().splitlines():
        _, _, _, kind, event, *fields = line.split(" @ ")[0].split()
        if kind == "START":
            continue
        values = dict(field.split("=", 1) for field in fields)
        how = "atomic" if kind == "ATOMIC" else values.pop("end", "return")
        ends[event][how] += 1
        if how == "return" and event.startswith("GASP_USER_") and values.get("result", "unknown") != "unknown":
            result = int(values.pop("result"), 0)
            results[event].append(({name: int(value, 0) for name, value in values.items()}, result))
    return Seen(told, report, ends, results)


def started(folder, rung, command, functions, *options):
    """Runs a job under gaspbpf: what it told, its exit status, and what was recorded."""
    recording = folder / "run.gasp"
    result = gaspbpf.run("-q", "-o", recording, *RUNGS[rung], *options, *probing(functions), "--", *command,
                         env={"GASPBPF_RUNG": rung})
    told, _, report = result.stdout.partition("Observed for ")
    assert report, result.stderr
    return words(told), result.returncode, recording


def expect_calls(seen, event_of):
    """Exactly the calls that were made."""
    rows = gaspbpf.events(seen.report)
    made = {name: calls for name, (calls, _) in functions_told(seen.told).items()}
    assert {name: rows[event_of(name)]["calls"] for name in made} == made
    assert seen.report["loss"]["lost"] == 0


def expect_returns(seen, event_of):
    """Exactly those calls returned that did, by a ret or by a jump to a last function; exceptions, jumps or the end of
    their thread ended the others."""
    for name, (calls, returns) in functions_told(seen.told).items():
        ends = seen.ends[event_of(name)]
        assert ends["return"] + ends["tail"] == returns, (name, ends)
        assert ends["unwound"] + ends["exit"] == calls - returns, (name, ends)


def expect_pairs(seen, functions):
    """Each return is that of its own call."""
    for prototype, value_of in functions.items():
        for arguments, result in seen.results[user_event(symbol(prototype))] if value_of else []:
            assert result == value_of(**arguments), prototype
        assert not value_of or seen.results[user_event(symbol(prototype))], f"{prototype}: no result was seen"


def user_event(function):
    return f"GASP_USER_{function.upper()}"


@pytest.mark.parametrize("name, rung", RUNS)
def test_a_job_runs_as_it_does_alone(tmp_path, name, rung):
    program, arguments, functions = JOBS[name]
    command = [HARM / program, *arguments]
    told, status, recording = started(tmp_path, rung, command, functions)
    assert (told, status) == alone(command)
    seen = read(told, recording)
    expect_calls(seen, user_event)
    expect_returns(seen, user_event)
    expect_pairs(seen, functions)
    assert seen.report["loss"]["no_entry"] == 0


@pytest.mark.parametrize("name", [name for name in JOBS if name != "panics"])
def test_a_job_that_is_joined_late(job, observe, tmp_path, name):
    """Attached to the running process, before its counted work."""
    program, arguments, functions = JOBS[name]
    target = job([HARM / program, *arguments]).wait_ready()
    watcher = observe("-p", target.process.pid, "-o", tmp_path / "run.gasp", *probing(functions))
    target.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    status = target.end()
    told = words(target.output())
    assert (told, status) == alone([HARM / program, *arguments])
    seen = read(told, tmp_path / "run.gasp")
    expect_calls(seen, user_event)
    expect_returns(seen, user_event)
    expect_pairs(seen, functions)


@pytest.mark.parametrize("name", HARMED)
def test_return_probes_do_harm(tmp_path, name):
    """That is what the jobs are for. Where this one fails, the others show nothing. (No model's functions: in
    pthread_cond_wait the harm is a job that hangs. Nor a link that can leave the return alone for one call.)"""
    program, arguments, functions = JOBS[name]
    command = [HARM / program, *arguments]
    told, status, _ = started(tmp_path, "multi", command, functions, "-m", "shmem", "--returns=trampoline")
    assert (told, status) != alone(command)


@pytest.mark.parametrize("inside", [[], ["unshare", "--pid", "--fork"]], ids=["here", "in a container"])
@pytest.mark.parametrize("name", ["own fibers", "own fibers beside the thread pointer"])
def test_each_call_asks_whether_it_is_on_its_threads_stack(tmp_path, name, inside):
    """Where a link can leave the return alone for one call, return probes do none of that harm. The first call of all
    is on a fiber. A thread's number is small in a container, and must not be taken for an address of its stack. A file
    of the test's own: the return probes of other observers are not asked."""
    program, arguments, functions = JOBS[name]
    command = [*inside, shutil.copy(HARM / program, tmp_path), *arguments]
    told, status, recording = started(tmp_path, "session", command, functions, "-m", "shmem",
                                      "--returns=trampoline")
    assert (told, status) == alone(command)
    expect_calls(read(told, recording), user_event)


EXECUTES = r"""
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <stdio.h>
    #include <sys/mman.h>
    #include <ucontext.h>
    #include <unistd.h>
    #define STACK (1 << 18)
    static char *const there = (char *)0x600000000000;
    static char **self;
    static ucontext_t home, one, two;
    long __attribute__((noinline)) turn(ucontext_t *own, ucontext_t *other)
    {
        return own ? swapcontext(own, other) + 1 : 1;
    }
    static void run_one(void)
    {
        printf("one %ld\n", turn(&one, &two));
        swapcontext(&one, &two);
    }
    static void run_two(void)
    {
        printf("two %ld\n", turn(&two, &one));
    }
    static void *execute(void *nothing)
    {
        char *again[] = { self[0], "again", NULL };
        turn(NULL, NULL);
        execv(self[0], again);
        return nothing;
    }
    static void prepare(ucontext_t *context, void (*run)(void), char *stack)
    {
        getcontext(context);
        context->uc_stack.ss_sp = stack;
        context->uc_stack.ss_size = STACK;
        context->uc_link = &home;
        makecontext(context, run, 0);
    }
    int main(int argc, char **argv)
    {
        pthread_attr_t attributes;
        pthread_t thread;
        if (mmap(there, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != there)
            return 2;
        if (argc > 1) {
            prepare(&one, run_one, there);
            prepare(&two, run_two, there + STACK);
            swapcontext(&home, &one);
            return 0;
        }
        self = argv;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, there, 3 * STACK);
        pthread_create(&thread, &attributes, execute, NULL);
        pthread_join(thread, NULL);
        return 3;
    }
"""


def test_the_stack_of_a_thread_that_executed_another_program(tmp_path):
    """It was where that one has its fibers."""
    (tmp_path / "executes.c").write_text(EXECUTES)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "executes", tmp_path / "executes.c"], check=True)
    command = [tmp_path / "executes"]
    functions = {"long turn(void *own, void *other) ->": None}
    told, status, recording = started(tmp_path, "session", command, functions, "-m", "shmem", "--returns=trampoline")
    assert (told, status) == (["one 1", "two 1"], 0) == alone(command)
    row = gaspbpf.events(read(told, recording).report)["GASP_USER_TURN"]
    assert (row["calls"], row["alone"]) == (3, 2)


@pytest.mark.parametrize("name", HARMED)
def test_list_tells_how_returns_are_observed_and_why(name):
    program, _, functions = JOBS[name]
    result = gaspbpf.run("list", HARM / program, "--json", *probing(functions))
    assert result.returncode == 0, result.stderr
    rows = {row["symbol"]: row for row in json.loads(result.stdout)["found"] if row["model"] == "user"}
    assert {name: row["returns"] for name, row in rows.items()} == {symbol(each): "sites" for each in functions}
    assert all(row["returns_why"] for row in rows.values())


@pytest.mark.parametrize("loads", ["dlopen", "dlmopen", None])
def test_a_library_that_comes_later_may_cancel(tmp_path, loads):
    """Whoever loads libraries has not shown all that may happen in pthread_cond_wait()."""
    call = {"dlopen": "dlopen(v[1], RTLD_NOW)", "dlmopen": "dlmopen(LM_ID_NEWLM, v[1], RTLD_NOW)"}.get(loads, "0")
    source = tmp_path / "waits.c"
    source.write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\nint main(int c, char **v) {\n"
                      "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t k = PTHREAD_COND_INITIALIZER;\n"
                      f"if (c > 1) return !{call} + pthread_cond_wait(&k, &m);\nreturn 0; }}\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "waits", source], check=True)
    result = gaspbpf.run("list", tmp_path / "waits", "-m", "pthread", "--json")
    assert result.returncode == 0, result.stderr
    wait, = (row for row in json.loads(result.stdout)["found"] if row["symbol"] == "pthread_cond_wait")
    assert wait["returns"] == ("sites" if loads else "trampoline")
    assert ("library that comes later" in wait["returns_why"]) == bool(loads)


CANCELLED = """
    #include <cstdio>
    #include <pthread.h>
    #include <unistd.h>
    #ifdef ANYWHERE
    static void rest() {}
    #else
    static void rest() { usleep(100); }
    #endif
    static volatile bool spins;
    extern "C" long __attribute__((noipa)) spin(long n)
    {
        for (spins = n; spins;)
            rest();
        return n;
    }
    struct Says {
        ~Says() { std::puts("cleaned up"); }
    };
    static void *work(void *)
    {
        Says says;

    #ifdef ANYWHERE
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    #endif
        spin(1);
        return nullptr;
    }
    int main()
    {
        pthread_t thread;

        pthread_create(&thread, nullptr, work, nullptr);
        while (!spins)
            ;
        pthread_cancel(thread);
        pthread_join(thread, nullptr);
        return 0;
    }
"""


@pytest.mark.parametrize("option, role", [("-DANYWHERE", "function leaf"), ("-UANYWHERE", "fence")],
                         ids=["anywhere", "where it rests"])
def test_a_thread_that_may_be_cancelled(tmp_path, option, role):
    """Even in a function that calls nobody, or of which a model says nothing: its destructors run."""
    (tmp_path / "cancelled.cc").write_text(CANCELLED)
    subprocess.run(["g++", "-O1", "-pthread", option, "-fnon-call-exceptions", "-o", tmp_path / "cancelled",
                    tmp_path / "cancelled.cc"], check=True)
    (tmp_path / "spin.model").write_text(
        f"model spin\nlibrary program\nneeds spin\nSPIN {role} long spin(long n)\n")
    command = [tmp_path / "cancelled"]
    result = gaspbpf.run("--json", "--model-file", tmp_path / "spin.model", "-m", "spin", "--", *command)
    told, _, report = result.stdout.partition("{")
    assert (words(told), result.returncode) == (["cleaned up"], 0) == alone(command), result.stderr
    row = gaspbpf.events(json.loads("{" + report))["GASP_SPIN_SPIN"]
    assert (row["calls"], row["unwound"] + row["ended"]) == (1, 1), row


OWN_RETURNS = """
    static void *volatile kept;
    long __attribute__((noinline)) plain(long n) { volatile char room[64] = { (char)n }; return room[n & 63]; }
    long __attribute__((noinline)) at_once(long n) { kept = __builtin_return_address(0); return n; }
    long __attribute__((noinline)) late(long n)
    {
        volatile char room[64] = { (char)n };
        for (long i = 0; i < n; i++) room[i & 63] += i;
        kept = __builtin_return_address(0);
        return room[n & 63];
    }
    int main(int argc, char **argv) { return (int)(plain(argc) + at_once(argc) + late(argc)); }
"""


@pytest.mark.parametrize("how", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])
def test_who_reads_its_own_return_address(tmp_path, how):
    """It would find the return probe's there, in whichever instruction it does so."""
    (tmp_path / "own.c").write_text(OWN_RETURNS)
    subprocess.run(["gcc", "-O2", how, "-o", tmp_path / "own", tmp_path / "own.c"], check=True)
    result = gaspbpf.run("list", tmp_path / "own", "--json", *probing(f"long {name}(long n) ->" for name in (
        "plain", "at_once", "late")))
    assert result.returncode == 0, result.stderr
    rows = {row["symbol"]: row for row in json.loads(result.stdout)["found"] if row["model"] == "user"}
    assert {name: row["returns"] for name, row in rows.items()} == {
        "plain": "trampoline", "at_once": "sites", "late": "sites"}
    assert all("own return address" in rows[name]["returns_why"] for name in ("at_once", "late"))


def test_only_the_calls(tmp_path):
    """--returns=none: no function has a duration, whatever happens in it."""
    command = [HARM / "exceptions_O2"]
    told, status, recording = started(tmp_path, "session", command, EXCEPTIONS, "--returns=none")
    assert (told, status) == alone(command)
    seen = read(told, recording)
    expect_calls(seen, user_event)
    assert {how for event, ends in seen.ends.items() for how in ends if event.startswith("GASP_USER_")} == {"atomic"}


def test_two_jobs_at_once(job, observe, tmp_path):
    """Each process has a link of its own on the same places."""
    targets = [job([HARM / "exceptions_O2"]).wait_ready() for _ in range(2)]
    watcher = observe("-p", ",".join(str(target.process.pid) for target in targets), "-o", tmp_path / "run.gasp",
                      *probing(EXCEPTIONS))
    for target in targets:
        target.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert [(target.end(), words(target.output())) for target in targets] == 2 * [alone([HARM / "exceptions_O2"])[::-1]]


# --- exceptions -------------------------------------------------------------

def code_of(program, function):
    """The instructions of a function, as objdump prints them."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program],
                          capture_output=True, text=True, check=True, timeout=gaspbpf.PATIENCE).stdout
    return re.findall(r"^\s+[0-9a-f]+:\t(\w+)", text.partition(f"<{function}>:")[2], re.MULTILINE)


def test_cold_parts_are_apart():
    """What the job's source says of its functions is so: else the tests above show less than they seem to."""
    for function in "shallow", "deep", "again", "translate", "partly", "split", "swallow":
        assert code_of(HARM / "exceptions_O2", f"{function}.cold"), function
    assert {"ret", "jmp"} <= set(code_of(HARM / "exceptions_O2", "split.cold"))
    symbols = subprocess.run(["nm", HARM / "exceptions_stripped"], capture_output=True, text=True,
                             timeout=gaspbpf.PATIENCE)
    assert "no symbols" in symbols.stderr


@pytest.mark.parametrize("rung", RUNGS)
def test_cold_parts_without_a_name(tmp_path, rung):
    """Only the exported names are left: where the cold part is, is told by the unwind tables alone."""
    command = [HARM / "exceptions_stripped"]
    told, status, recording = started(tmp_path, rung, command, EXCEPTIONS)
    assert (told, status) == alone(command)
    seen = read(told, recording)
    expect_calls(seen, user_event)
    expect_returns(seen, user_event)
    expect_pairs(seen, EXCEPTIONS)


# --- fibers -----------------------------------------------------------------

@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("program", ["fibers", "fibers_own"])
def test_a_hundred_fibers(tmp_path, program, workers):
    """Hundreds of calls of one function are in progress at the same time; a timeline shows 64 of them on a thread, the
    report all."""
    command = [HARM / program, "--fibers", "100", "--workers", workers]
    told, status, recording = started(tmp_path, "session", command, FIBERS)
    assert (told, status) == alone(command)
    seen = read(told, recording)
    expect_calls(seen, user_event)
    expect_pairs(seen, FIBERS)
    rows = gaspbpf.events(seen.report)
    there = sum(thread["wall_ns"] for thread in seen.report["threads"])
    assert sum(row["self_ns"] for row in rows.values()) <= there
    for name in functions_told(told):
        row = rows[user_event(name)]
        assert row["total_ns"] <= there, row
        assert not any(row[reason] for reason in ("unwound", "ended", "open", "deep")), row
        assert row["min_ns"] > 0
    assert seen.report["loss"]["no_entry"] == 0


def test_top_counts_each_moment_once():
    """Its calls by themselves took no more than the time that a thread was there, however many were in progress at a
    time."""
    for _ in range(5):  # where calls were lost, on a busy machine, their time is an estimate
        result = gaspbpf.run("top", "--once", "--json", "-d", "60", *probing(FIBERS), "--", HARM / "fibers",
                             "--fibers", "100")
        assert result.returncode == 0, result.stderr
        top = json.loads(result.stdout[result.stdout.index("{\n"):])
        if not any(thread["all"]["missing"] for thread in top["threads"]):
            break
    assert sum(thread["all"]["calls"] for thread in top["threads"]) >= 200
    for thread in top["threads"]:
        assert thread["all"]["missing"] or sum(
            event["all"]["self_ns"] for event in thread["events"]) <= thread["all"]["observed_ns"]


@pytest.mark.parametrize("rung", RUNGS)
def test_the_function_that_switches(tmp_path, rung):
    """It begins on one stack and returns on another."""
    functions = {**FIBERS, "void switch_stack(void **from, void *to)": None}
    command = [HARM / "fibers_own", "--fibers", "5"]
    told, status, recording = started(tmp_path, rung, command, functions)
    assert (told, status) == alone(command)
    seen = read(told, recording)
    expect_calls(seen, user_event)
    expect_pairs(seen, FIBERS)


# --- MPI ----------------------------------------------------------------------

MPI_FUNCTIONS = {
    "int MPI_Send(const void *buf, int count, void *type, int dest, int tag, void *comm) ->": None,
    "int MPI_Allreduce(const void *in, void *out, int count, void *type, void *op, void *comm) ->": None,
}
MPI_USER = {
    "int MPI_Reduce_local(const void *in, void *inout, int count, void *type, void *op) ->": None,
    "void handle(void *comm, int *code)": None,
    "void combine(void *in, void *inout, int *count, void *type)": None,
}


def summed(folder):
    """The ranks' lines, and of each function the sum."""
    files = sorted(folder.glob("told.*"))
    lines = [words(path.read_text()) for path in files]
    total = collections.Counter()
    for rank in lines:
        for name, (calls, returns) in functions_told(rank).items():
            total[name, 0] += calls
            total[name, 1] += returns
    return lines, [f"function {name} calls {total[name, 0]} returns {total[name, 1]}" for name, which in total
                   if which == 0]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi_calls_that_throw(tmp_path, monkeypatch, mpi, rung):
    """An error handler throws out of MPI_Send, an operator out of MPI_Reduce_local and MPI_Allreduce."""
    for name, value in truth.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "alone").mkdir()
    launch = [f"mpirun.{mpi}", "-n", "2", HARM / f"mpi_throws_{mpi}", "--tell"]
    _, status_alone = alone([*launch, tmp_path / "alone" / "told"])
    # On the perf rung without the model: so few functions as are called here.
    functions = MPI_USER if rung != "perf" else MPI_USER | MPI_FUNCTIONS
    _, status, recording = started(tmp_path, rung, [*launch, tmp_path / "told"], functions)
    assert status == status_alone == 0
    lines, told = summed(tmp_path)
    assert lines == summed(tmp_path / "alone")[0] and len(lines) == 2

    def event_of(function):
        by_model = rung != "perf" and function in map(symbol, MPI_FUNCTIONS)
        return f"GASP_{function.upper()}" if by_model else user_event(function)

    seen = read(told, recording)
    expect_calls(seen, event_of)
    expect_returns(seen, event_of)


# --- Go -----------------------------------------------------------------------

def test_a_go_program_is_refused_and_goes_on(tmp_path):
    """Its stacks move, with the addresses on them; nothing is put into it."""
    command = [HARM / "goroutines", "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout.readline().startswith("ready")
            result = gaspbpf.run("-p", target.pid, "-d", "5", "-e", "main.climb")
            assert result.returncode == 1
            assert "Go program" in result.stderr and len(result.stderr.strip().splitlines()) == 1, result.stderr
            told, _ = target.communicate(timeout=gaspbpf.PATIENCE)
        finally:
            target.kill()
    assert (words(told), target.returncode) == alone([HARM / "goroutines"])


# --- what comes later ---------------------------------------------------------

HANDLES = r"""
#include <signal.h>
static void on_signal(int number) { (void)number; }
void handle(void) { SET; }
"""
THROWS = r"""
#include <cstdlib>
#include <unistd.h>
extern "C" void handle(void);
int main(int argc, char **)
{
	try {
		if (argc > 3)
			throw 1;
		handle();
	} catch (int) {
	}
	for (;;)
		free(malloc(usleep(1000) + 3));
}
"""
SETS = {
    "sigaction": ("sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal }, 0)", "-std=gnu11"),
    "signal": ("signal(SIGUSR1, on_signal)", "-std=gnu11"),
    "__sysv_signal": ("signal(SIGUSR1, on_signal)", "-std=c11"),
    "nothing": ("", "-std=gnu11"),
}


@pytest.mark.parametrize("name", SETS)
def test_who_handles_signals_by_whatever_name(tmp_path, job, name):
    """An exception may come out of the handler, at any instruction: not even malloc has a return probe then."""
    call, standard = SETS[name]
    (tmp_path / "handles.c").write_text(HANDLES.replace("SET", call))
    (tmp_path / "throws.cc").write_text(THROWS)
    gaspbpf.compile_c(tmp_path / "handles.c", tmp_path / "handles.o", standard, "-c")
    subprocess.run(["g++", tmp_path / "throws.cc", tmp_path / "handles.o", "-o", tmp_path / "program"], check=True)
    running = job([tmp_path / "program"])
    gaspbpf.wait_for(lambda: b"program" in open(f"/proc/{running.process.pid}/cmdline", "rb").read(),
                     "the program to run")
    result = gaspbpf.run("list", "-p", running.process.pid, "-m", "c", "--json")
    assert result.returncode == 0, result.stderr
    returns = {row["symbol"]: row["returns"] for row in json.loads(result.stdout)["found"]}
    assert returns["malloc"] == ("trampoline" if name == "nothing" else "sites")


MAPPING = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#define PAGES 4000
static volatile int begun, ended;
static volatile long times[6];
static void *keep_mapping(void *number)
{
	char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < PAGES; i += 2)
		mprotect(pages + i * 4096, 4096, PROT_READ);
	while (!begun)
		;
	for (int i = 0; !ended; times[(long)number] = i++) /* the whole region, piece by piece, while the lock of the address space is held */
		mprotect(pages, PAGES * 4096, i % 2 ? PROT_READ : PROT_NONE);
	return number;
}
static int deep(int depth) /* below what the first thread's stack has from the beginning */
{
	volatile char room[300000];

	room[depth] = 1;
	free(malloc(77));
	return room[depth];
}
int main(void)
{
	pthread_t thread;

	for (long i = 0; i < 6; i++)
		pthread_create(&thread, NULL, keep_mapping, (void *)i);
	puts("ready"); fflush(stdout); getchar();
	begun = 1;
	for (int i = 0; i < 6; i++)
		while (times[i] < 3)
			;
	for (int i = 0; i < 5; i++)
		free(malloc(33));
	for (int i = 0; i < 300; i++)
		deep(i);
	ended = 1;
	puts("done"); fflush(stdout); getchar();
	return 0;
}
"""


@pytest.mark.skipif("session" not in gaspbpf.RUNGS, reason="elsewhere no call can choose")
def test_calls_while_other_threads_map(tmp_path, observe):
    """Where the stack is cannot be asked for meanwhile: the first thread's first pages are known without."""
    (tmp_path / "mapping.c").write_text(MAPPING)
    gaspbpf.compile_c(tmp_path / "mapping.c", tmp_path / "mapping", "-O0", "-pthread")
    with subprocess.Popen([tmp_path / "mapping"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            watcher = observe("-p", program.pid, "-m", "c", "-o", tmp_path / "run.gasp", "-o", tmp_path / "run.events")
            program.stdin.write("\n"), program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            status, _, errors = watcher.stop()
            assert status == 0, errors
            program.communicate("\n")
            assert program.returncode == 0
        finally:
            program.kill()
    lines = (tmp_path / "run.events").read_text().splitlines()
    first = [line for line in lines if "GASP_C_MALLOC nbytes=33 " in line]
    assert [word for line in first for word in ("START", "END") if f" {word} " in line] == ["START", "END"] * 5, first
    rows = gaspbpf.events(json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout))
    assert rows["GASP_C_FREE"]["calls"] >= 305 and rows["GASP_C_FREE"]["lost"] == 0
