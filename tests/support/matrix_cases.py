# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of scripts/matrix: what is wrong with each of them, and which findings it must get; each has a healed twin,
which must get none of them. And jobs in which nobody has planted anything.

A finding is *wanted*; or it *may* be there, since it follows from what is wrong or is true for a reason that stands
beside it; or it is false.
"""
import dataclasses
import re

import gaspbpf

WORKLOADS = gaspbpf.WORKLOADS
PATHOLOGY = WORKLOADS / "pathology"
SOURCES = gaspbpf.TOP / "tests" / "workloads"
EXAMPLES = "/usr/lib/x86_64-linux-gnu/starpu/examples/"
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n"]

# What these say is measured, and nobody's fault: how much of the time an event takes, which calls did not return, which
# runtime is not seen. They may be there in any job. (`starved` is true where the kernel says so: see scripts/matrix.)
FACTS = {"hot_event": "says how much of the time the event takes that has most; no cause",
         "probe_cost": "says that gaspbpf's own probes take a tenth of a thread's time",
         "unmodelled": "says which runtime is not seen",
         "unreturned": "says how many calls did not return"}
# Kinds that none of these jobs is about.
ELSEWHERE = {"probe_cost": "tests/recording/test_report_legible.py",
             "unmodelled": "tests/recording/test_unmodelled.py", "unreturned": "tests/observe/test_returns.py"}

# What was found by looking, of jobs that get a finding which no rule above or below says is right, or do not get one:
# {job: {kind: what}}.
ABRUPT = "the waits are in the call that follows the one that posts the receives: so the kernel is written"
SLOWER = ("so it was: one of the two processors was slower in that run. The rank had as much processor time as the "
          "other, was not queued for it, and took a fifth longer for the same; in another run it is the other rank, or "
          "none")
EXAMINED = {
    "UPC notify and wait": {"split_phase_wasted": "so it is: what this job does between notify and wait is nothing"},
    "StarPU's dot_product": {
        "late_submission": "so it is: one thread submits tasks of 5 us, at 70 us each",
        "task_overhead": "so it is: tasks of 5 us cost the runtime 100 us each"},
    "StarPU's pipeline": {
        "ready_tasks": "so it is: each task needs the one before it",
        "task_overhead": "so it is: 1,024 tasks of 8 us cost the runtime 34 us each"},
    "StarPU's heat": {"last_tasks": "so it is: few tasks, as large as they are, are left at the end of each part"},
    "CG, 2 ranks": {"no_overlap": ABRUPT}, "CG, 4 ranks": {"no_overlap": ABRUPT},
    "EP, 2 ranks": {"delay": SLOWER}, "IS, 2 ranks": {"delay": SLOWER},
    "CAF co_sum, healed": {"delay": "false: at a load of 20, image 2 was held up 2 ms more a round than the others"},
    "MPI late post, healed": {"critical_path": "each rank's work stands between other calls, so nobody else does the "
                              "same as rank 2 does; it is on the path as any other's would be"},
    "MPI late complete, healed": {"delay": "false: rank 1 has one put more to do before its work than the others; they "
                                  "wait some 25 us a round for it, 1 % of the run"},
    "MPI leak, healed": {"delay": "rank 1 allocates and frees 100 blocks a round more, which costs it more since these "
                                  "calls are observed: on a busy machine more than what is calibrated and taken off"}}

HELD = "what the holder does while it has the lock, and where"
LATE = "the waiting that the late one causes, from the other side"


@dataclasses.dataclass
class Case:
    """A job, and what is to be said of it."""
    name: str
    wrong: str                                       # in words, for the page
    command: list
    ranks: int = 1
    wanted: list = dataclasses.field(default_factory=list)  # of kinds, or tuples of kinds of which one will do
    may: dict = dataclasses.field(default_factory=dict)     # kind: why that is right
    says: object = None                              # job -> what the findings that are wanted must say, each
    options: list = dataclasses.field(default_factory=list)  # of gaspbpf
    env: dict = dataclasses.field(default_factory=dict)
    joins: float = 0                                 # seconds after the job's start
    loses: bool = False                              # calls must get lost
    binds: dict = dataclasses.field(default_factory=dict)   # rank: its CPU
    burner: int = None                               # the CPU on which another program is busy
    gate: bool = True                                # it waits at the gate (tests/workloads/README.md)
    planted: bool = True


def line_of(source, mark):
    number, = (number for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1)
               if f"/* {mark} */" in line)
    return f"{source}:{number}"


def truth_of(job, rank):
    return next(truth for truth in job.truths() if truth["rank"] == rank)


def rank_and_line(source, who, also=None, label="rank {}"):
    """One of the findings names the rank, and the line of its call."""
    def says(job):
        wanted = [(label.format(who), f"{source}:{truth_of(job, who)['line']}")]
        if also is not None:
            wanted.append((f"rank {also}", f"{source}:{truth_of(job, also)['also']['line']}"))
        return wanted
    return says


def thread_and_line(source, who):
    def says(job):
        member = job.truths()[0]["members"][who]
        return [(f"tid {member['tid']}", f"{source}:{member['line']}")]
    return says


def words(*texts):
    return lambda job: [texts]


def mpi(ranks, *options):
    return [*MPIRUN, ranks, PATHOLOGY / "mpi_openmpi", *options]


def twins(sick, healed, **other):
    """The case, and the one that has another command line, and nothing wrong."""
    return [sick, dataclasses.replace(sick, name=f"{sick.name}, healed", wrong="", command=healed, wanted=[],
                                      says=None, **{"may": {}, **other})]


# --- somebody is late -------------------------------------------------------------

PATTERNS = ["barrier", "allreduce", "late sender", "late receiver", "broadcast", "reduce", "chain", "waitall", "halo",
            "halo again", "probe", "test", "testall", "iprobe", "mprobe"]
WAITS_AT = dict.fromkeys(["late sender", "waitall", "late receiver", "halo", "halo again"], {"no_overlap": LATE})


def late_mpi():
    for number, name in enumerate(PATTERNS):
        sick = Case(f"MPI {name}", "rank 1 of 4 comes 4 ms late", mpi(4, "--pattern", number, "--us", 4000), 4,
                    ["delay"], WAITS_AT.get(name, {}), rank_and_line("mpi.c", 1))
        yield from twins(sick, mpi(4, "--pattern", number, "--us", 0))


def late_signals():
    """What threads of one process wait for."""
    for pattern, name, wrong, who in ((0, "semaphores", "the producer works 3 ms more for each piece", 0),
                                      (1, "conditions", "the producer works 3 ms more for each piece", 0),
                                      (2, "meeting", "thread 1 comes 3 ms late to a barrier made of a condition "
                                       "variable", 1)):
        command = [PATHOLOGY / "signals", "--pattern", pattern, "--who", 1, "--rounds", 40]
        yield from twins(Case(f"pthread {name}", wrong, [*command, "--us", 3000], 1, ["delay"],
                              says=lambda job, who=who: [(f"tid {job.truths()[0]['members'][who]['tid']}",
                                                          "signals.c:")]), [*command, "--us", 0])
    yield Case("pthread helper", "", [PATHOLOGY / "signals", "--pattern", 3, "--threads", 3, "--base", 3000, "--us", 0],
               planted=False)


def late_others():
    for pattern, name in enumerate(["barrier", "flag", "broadcast"]):
        command = ["oshrun", "--oversubscribe", "-n", 4, PATHOLOGY / "shmem", "--pattern", pattern]
        yield from twins(Case(f"SHMEM {name}", "PE 1 of 4 comes 4 ms late", [*command, "--us", 4000], 4, ["delay"],
                              says=rank_and_line("shmem.c", 1, label="PE {}")), [*command, "--us", 0])
    for pattern, name in enumerate(["sync all", "co_sum", "sync images"]):
        command = [*MPIRUN, 4, PATHOLOGY / "caf", "--pattern", pattern]
        yield from twins(Case(f"CAF {name}", "image 2 of 4 comes 4 ms late", [*command, "--us", 4000], 4, ["delay"],
                              says=rank_and_line("caf.F90", 1, label="image 2")), [*command, "--us", 0])
    command = [*MPIRUN, 4, PATHOLOGY / "caf", "--spin", 1, "--us", 0, "--base", 4000, "--pattern"]
    yield from twins(Case("CAF chain", "4 images work 4 ms each, one after the other", [*command, 3], 4,
                          ["serialisation"], says=words("images 1-4", "caf.F90:")), [*command, 4])
    for pattern, name in enumerate(["barrier", "notify and wait"]):
        command = [PATHOLOGY / "upc", "-n", 4, "--pattern", pattern]
        yield from twins(Case(f"UPC {name}", "thread 1 of 4 comes 4 ms late", [*command, "--us", 4000], 4, ["delay"],
                              says=rank_and_line("upc.c", 1, label="thread {}")), [*command, "--us", 0])
    for program, pattern, name in (("threads", 0, "pthread barrier"), ("openmp", 0, "OpenMP barrier")):
        command = [PATHOLOGY / program, "--pattern", pattern]
        yield from twins(Case(name, "thread 1 of 4 comes 4 ms late", [*command, "--us", 4000], 1, ["delay"],
                              says=thread_and_line("threads.c", 1)), [*command, "--us", 0])
    command = [PATHOLOGY / "openmp", "--pattern", 1]
    yield from twins(Case("OpenMP regions", "the share of thread 1 of 4 takes 4 ms longer", [*command, "--us", 4000], 1,
                          [("team_wait", "uneven_region")], says=words("threads.c:")),
                     [*command, "--us", 0, "--base", 3000])
    command = [PATHOLOGY / "openmp", "--pattern", 2, "--base", 3000]
    yield from twins(Case("OpenMP serial code", "the first of 4 threads works 4 ms alone between regions of 3 ms",
                          [*command, "--us", 4000], 1, [("team_wait", "serial_code")], says=words("threads.c:")),
                     [*command, "--us", 0])
    command = [PATHOLOGY / "starpu", "--tasks", 4, "--rounds", 40]
    env = {"STARPU_NCPU": "2"}
    yield from twins(Case("StarPU long task", "one of 4 tasks takes 6 ms longer, 2 workers", [*command, "--us", 6000],
                          1, [("critical_path", "last_tasks")], env=env), [*command, "--us", 0, "--base", 2000])
    yield from twins(Case("StarPU chain", "each task needs the one before, 2 workers",
                          [*command, "--us", 0, "--base", 2000, "--pattern", 1], 1,
                          [("critical_path", "task_dependencies")], env=env),
                     [*command, "--us", 0, "--base", 2000])


def late_in_time():
    """In one phase only, after a while only, now and then; two at once."""
    slower = {"slowdown": "so it is", "outlier_iterations": "so they are"}
    base = ["--pattern", 0, "--base", 4000]
    yield Case("MPI in one phase", "rank 1 of 4 comes 20 ms late in rounds 20 to 40 of 60",
               mpi(4, *base, "--rounds", 60, "--us", 20000, "--from", 20, "--to", 40), 4, ["delay"], slower,
               rank_and_line("mpi.c", 1))
    yield Case("MPI after a while", "rank 1 of 4 comes 15 ms late from round 60 of 90 on",
               mpi(4, *base, "--rounds", 90, "--us", 15000, "--from", 60), 4, ["delay", "slowdown"], slower,
               rank_and_line("mpi.c", 1))
    yield Case("MPI now and then", "rank 1 of 4 comes 60 ms late in each 12th of 60 rounds",
               mpi(4, "--pattern", 1, "--base", 8000, "--rounds", 60, "--us", 60000, "--from", 15, "--every", 12), 4,
               ["delay", "outlier_iterations"], slower, rank_and_line("mpi.c", 1))
    two = ["--pattern", 0, "--also-pattern", 1, "--also-who", 2]
    yield from twins(
        Case("MPI two at once", "rank 1 of 4 comes 4 ms late to a barrier, rank 2 to an allreduce",
             mpi(4, *two, "--us", 4000, "--also-us", 4000), 4, ["delay"], {}, rank_and_line("mpi.c", 1, 2)),
        mpi(4, *two, "--us", 0, "--also-us", 0))
    yield Case("MPI two at once, unlike", "rank 1 of 4 comes 6 ms late to a barrier, rank 2 sends 2 ms late",
               mpi(4, "--pattern", 0, "--also-pattern", 2, "--also-who", 2, "--us", 6000, "--also-us", 4000), 4,
               ["delay"], {"no_overlap": LATE}, rank_and_line("mpi.c", 1, 2))


def late_together():
    """Several have more to do than the others, or another one in each round."""
    base = [4, "--pattern", 0, "--rounds", 80]
    yield from twins(Case("MPI two of four", "ranks 1 and 2 of 4 come 4 ms late",
                          mpi(*base, "--us", 4000, "--many", 2), 4, ["load_imbalance"], {},
                          words("ranks 1, 2", "mpi.c:")), mpi(*base, "--us", 0, "--base", 2500))
    shmem = ["oshrun", "--oversubscribe", "-n", 4, PATHOLOGY / "shmem", "--pattern", 0]
    yield from twins(Case("SHMEM two of four", "PEs 1 and 2 of 4 come 4 ms late", [*shmem, "--us", 4000, "--many", 2],
                          4, ["load_imbalance"], {}, words("PEs 1, 2", "shmem.c:")),
                     [*shmem, "--us", 0, "--base", 2500])
    threads = [PATHOLOGY / "threads", "--pattern", 0]
    yield from twins(Case("pthread two of four", "threads 1 and 2 of 4 come 4 ms late",
                          [*threads, "--us", 4000, "--many", 2], 1, ["load_imbalance"], {}, words("threads.c:")),
                     [*threads, "--us", 0, "--base", 2500])
    yield from twins(Case("MPI by turns", "in each round another one of 4 ranks comes 8 ms late",
                          mpi(*base, "--us", 8000, "--turns", 4), 4, ["changing_imbalance"], {},
                          words("mpi.c:", "by turns")), mpi(*base, "--us", 0, "--base", 2500))


# --- how it is observed; processors -----------------------------------------------

def observed_badly():
    name = "rank 1 of 4 comes 4 ms late; "
    base = ["--pattern", 0, "--us", 4000]
    yield Case("MPI joined late", f"{name}gaspbpf comes half a second later", mpi(4, *base, "--rounds", 1000), 4,
               ["delay"], {}, rank_and_line("mpi.c", 1), joins=0.5)
    burst = ["--pattern", 0, "--burst", 400, "--rounds", 10]
    yield Case("MPI with losses", "rank 1 of 4 comes 150 ms late; the ring buffer is too small",
               mpi(4, *burst, "--us", 150000), 4, [("delay", "slow_thread")], {}, words("rank 1"),
               ["--ring-size", "4k"], loses=True)
    yield Case("MPI with losses, healed", "", mpi(4, *burst, "--us", 0), 4, options=["--ring-size", "4k"], loses=True)
    yield Case("MPI with a governor", f"{name}at most 1 % of overhead", mpi(4, *base, "--burst", 300, "--rounds", 300),
               4, [("delay", "slow_thread")], {}, words("rank 1"), ["--max-overhead", "1%"])
    yield Case("MPI with a governor, healed", "", mpi(4, "--pattern", 0, "--us", 0, "--burst", 300, "--rounds", 300), 4,
               options=["--max-overhead", "1%"])


def crowded():
    """Work is processor time, on two processors."""
    for ranks in (2, 4, 8, 16):
        base = ["--pattern", 0, "--spin", 1, "--base", 3000, "--rounds", max(30, 480 // ranks)]
        yield from twins(Case(f"MPI {ranks} ranks", f"rank 1 of {ranks} computes 9 ms instead of 3 ms",
                              mpi(ranks, *base, "--us", 6000), ranks, ["delay"], {}, rank_and_line("mpi.c", 1)),
                         mpi(ranks, *base, "--us", 0))
    base = ["--pattern", 0, "--spin", 1, "--base", 5000, "--us", 0, "--rounds", 150]
    yield Case("MPI beside a burner", "nothing: another program is busy on the CPU of rank 1", mpi(2, *base), 2,
               ["starved"], {}, words("had no CPU"), binds={0: 0, 1: 1}, burner=1)
    yield Case("MPI on one CPU", "nothing: ranks 0 and 1 are bound to one CPU", mpi(2, *base), 2, ["starved"], {},
               words("rank 0", "rank 1", "bound to CPU"), binds={0: 0, 1: 0})


# --- the others -------------------------------------------------------------------

def locks():
    for program, name, waits, holds in (("contention", "pthread lock", "waits", "holds"),
                                        ("contention_omp", "OpenMP critical", "omp", "omp")):
        sick = Case(name, "thread 1 of 4 holds a lock for 3 ms", [WORKLOADS / program], 1,
                    [("lock_contention", "lock_convoy")], {"delay": HELD}, lambda job, waits=waits, holds=holds: [(
                        line_of("contention.c", waits), line_of("contention.c", holds),
                        f"tid {job.truths()[0]['holder']}")])
        yield from twins(sick, [WORKLOADS / program, "--healed", 1],
                         may={"critical_path": "thread 1 works 6 ms a round, the others 3: outside of the lock now"})
    yield from twins(Case("pthread tries", "3 of 4 threads try to take a lock again and again",
                          [WORKLOADS / "contention", "--what", 1], 1, ["failed_tries"], {},
                          lambda job: [(line_of("contention.c", "tries"),)]),
                     [WORKLOADS / "contention", "--what", 1, "--healed", 1])


def messages():
    command = [WORKLOADS / "messages", "--rounds", 20, "--small", 1000]
    follows = "rank 0 asks for a message that rank 1 sends only after its work, and waits at once"
    yield from twins(Case("MPI small messages, no overlap", "rank 1 sends 1,000 messages of 512 B one after the other; "
                          "even ranks wait as soon as they have asked", [*MPIRUN, 2, *command], 2,
                          ["small_messages", "no_overlap"], {"delay": follows, "critical_path": follows},
                          lambda job: [(line_of("messages.c", "small"),), (line_of("messages.c", "idle"),)]),
                     [*MPIRUN, 2, *command, "--healed", 1])
    slow = "rank 0 is slow to take what all send to it"
    yield from twins(Case("MPI hot target", "all send to rank 0, which is slow to take it",
                          [*MPIRUN, 4, *command, "--what", 1], 4, ["hot_target"],
                          {"delay": slow, "critical_path": slow}, words("rank 0")),
                     [*MPIRUN, 4, *command, "--what", 1, "--healed", 1])


def memory():
    command = [*MPIRUN, 2, PATHOLOGY / "memory_openmpi", "--who", 1]
    yield from twins(Case("MPI leak", "rank 1 of 2 loses 5,000 B a round", [*command, "--leak", 5000], 2, ["leak"], {},
                          lambda job: [("rank 1", f"memory.c:{truth_of(job, 1)['leak_line']}")], ["-m", "+c"]),
                     [*command, "--pairs", 100])
    slow = [*MPIRUN[:-1], "-x", f"LD_PRELOAD={PATHOLOGY / 'libtcmalloc_slow.so'}", "-n", 2,
            PATHOLOGY / "memory_openmpi", "--who", 1]
    follows = "it is late to its barrier, since it allocates"
    yield Case("MPI churn", "rank 1 of 2 allocates and frees 1,000 small blocks a round, slowly",
               [*slow, "--pairs", 1000, "--us", 0, "--rounds", 20, "--slow", 3000], 2, ["churn"],
               {"delay": follows, "critical_path": follows},
               lambda job: [("rank 1", f"memory.c:{truth_of(job, 1)['churn_line']}")], ["-m", "+c"])


# --- tasks, regions, one-sided transfers ------------------------------------------

NODE = {"STARPU_NCPU": "1", "STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1", "STARPU_NOPENCL": "1",
        "STARPU_HOME": str(gaspbpf.TOP / "build" / "matrix")}  # what it measures of its memory nodes


def at_line(source, name, *others):
    """The finding has the line that the job's account calls so, and these words."""
    return lambda job: [(f"{source}:{job.truths()[0][name]}", *others)]


def tasks():
    command, env = [PATHOLOGY / "tasks"], {"STARPU_NCPU": "2"}
    submitted = at_line("tasks.c", "line")
    yield from twins(Case("StarPU tiny tasks", "tasks of some 10 us, 1 worker",
                          [*command, "--us", 15, "--spin", 1, "--many", 3000], 1, ["task_overhead"], {}, submitted,
                          env={"STARPU_NCPU": "1"}), [*command, "--many", 120])
    yield from twins(Case("StarPU bound tasks", "all long tasks may run on one of 2 workers only",
                          [*command, "--bound", 1, "--many", 90], 1, ["ready_tasks"], {},
                          at_line("tasks.c", "line", "work"), env=env), [*command, "--many", 90])
    yield from twins(Case("StarPU slow submission", "the program works 5 ms before it submits a task of 2 or 3 ms, "
                          "2 workers", [*command, "--pause", 5000], 1, ["late_submission"], {}, submitted, env=env),
                     [*command, "--many", 60])
    yield from twins(Case("StarPU slow worker", "tasks take 15 ms on worker 1, 3 ms on worker 0",
                          [*command, "--slow", 12000, "--bound", 2], 1, ["slow_worker"],
                          {"ready_tasks": "each task is bound to one worker: those of worker 1 wait while worker 0 is "
                           "idle"}, words("CPU 1", "work"), env=env), [*command, "--bound", 2])
    moving = [*command, "--many", 64, "--us", 1000, "--bytes"]
    yield from twins(Case("StarPU moving data", "each task needs 16 MB from the other memory node (OpenCL)",
                          [*moving, 16 << 20], 1, ["task_data"], {}, submitted, env=NODE), [*moving, 64])


def regions():
    command = [PATHOLOGY / "regions", "--base-us", 10, "--more-us", 0, "--between-us", 0, "--burst", 100]
    where = line_of("pathology/regions.c", "region").removeprefix("pathology/")
    yield from twins(Case("OpenMP short regions", "regions of 10 us, one after the other", [*command, "--spin", 1],
                          1, ["short_regions"], {}, words(where),
                          env={"OMP_WAIT_POLICY": "passive", "OMP_THREAD_LIMIT": "2"}),
                     [*command, "--healed", 1, "--base-us", 50])
    command = [PATHOLOGY / "regions", "--base-us", 0, "--more-us", 0, "--between-us", 0, "--pieces", 20000]
    yield from twins(Case("OpenMP small pieces", "iterations of some 30 ns, handed out one by one", command, 1,
                          ["small_chunks"], {}, words(where), env={"OMP_WAIT_POLICY": "passive"}),
                     [*command, "--healed", 1])


def one_sided():
    for number, name in enumerate(["post", "complete", "unlock", "fence"], 1):
        command = [*MPIRUN, 3, PATHOLOGY / "one_sided_openmpi", "--pattern", number]
        wrong = "rank 1 of 3 has a lock 4 ms longer" if name == "unlock" else f"rank 1 of 3 comes 4 ms late to a {name}"
        yield from twins(Case(f"MPI late {name}", wrong, [*command, "--us", 4000, "--rounds", 40], 3,
                              [("delay", "lock_contention", "lock_convoy")] if name == "unlock" else ["delay"], {},
                              lambda job, at=number - 1: [
                                  ("rank 1", f"one_sided.c:{truth_of(job, 1)['lines'][at]}")]),
                         [*command, "--us", 0, "--rounds", 40])
    command = ["oshrun", "--oversubscribe", "-n", 2, PATHOLOGY / "notify"]
    yield from twins(Case("SHMEM late notify", "PE 1 of 2 sets a variable 4 ms late", [*command, "--us", 4000], 2,
                          ["delay"], {}, rank_and_line("notify.c", 1, label="PE {}")), [*command, "--us", 0])
    command = [PATHOLOGY / "upc", "-n", 4]
    yield from twins(Case("UPC halves of a barrier", "nothing between notify and wait; thread 1 of 4 comes 4 ms late",
                          [*command, "--pattern", 1, "--us", 4000], 4, ["split_phase_wasted"],
                          {"delay": "thread 1 is late"}, words("upc.c:")),
                     [*command, "--pattern", 2, "--us", 0, "--base", 3000])


# --- nobody has planted anything ---------------------------------------------------

LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 100
run 400
"""


def unplanted():
    kernels = [("EP", 0, [], 60), ("CG", 1, ["--size", 384], 10), ("IS", 2, ["--size", 700], 10)]
    for name, what, options, rounds in kernels:
        for ranks in (2, 4):
            yield Case(f"{name}, {ranks} ranks", "", [*MPIRUN, ranks, WORKLOADS / "kernels", "--what", what, "--rounds",
                                                      rounds, *options], ranks, planted=False)
    for ranks in (2, 4):
        yield Case(f"LAMMPS, {ranks} ranks", "", [*MPIRUN, ranks, "lmp", "-in", "in.lj", "-log", "none"], ranks,
                   gate=False, planted=False)
    for name, options in (("cholesky_implicit", ["-size", "1280", "-nblocks", "8"]),
                          ("lu_implicit_example_float", ["-size", "1024", "-nblocks", "8"]),
                          ("heat", ["-ntheta", "24", "-nthick", "24", "-nblocks", "4", "-pop"]), ("pipeline", []),
                          ("dot_product", []), ("spmv", []), ("axpy", []), ("mult", [])):
        yield Case(f"StarPU's {name}", "", [EXAMPLES + name, *options], env={"STARPU_NCPU": "2"}, gate=False,
                   planted=False)


def all_cases():
    groups = (late_mpi, late_signals, late_others, late_in_time, late_together, observed_badly, crowded, locks,
              messages, memory, tasks, regions, one_sided, unplanted)
    found = [case for group in groups for case in group()]
    assert len({case.name for case in found}) == len(found)
    return found


def kinds():
    """Of findings: what the analyses' sources have."""
    found = set()
    for source in sorted((gaspbpf.TOP / "user" / "analysis").glob("*.c")):
        text = source.read_text() if source.name != "findings_evidence.c" else ""
        if "report_add_finding" not in text and "struct finding " not in text:
            continue
        named = dict(re.findall(r'#define (\w+) "(\w+)"', text))
        if "const char *kind;" in text:  # a table
            found |= set(re.findall(r'= \{ "(\w+)", ', text))
        found |= set(re.findall(r'delay_finding\(\w+, "(\w+)"', text))
        for value in re.findall(r"\.kind = ([^,;]*)", text):
            found |= set(re.findall(r'"(\w+)"', value))
            found |= {named[word] for word in re.findall(r"\w+", value) if word in named}
    return found
