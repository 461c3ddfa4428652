# SPDX-License-Identifier: BSD-2-Clause
"""Programs that died under an observer's return probes by ways of their own. By default options each ends and prints as
it does alone.

They were found by somebody who did not know the code, on the session rung: each of these tests failed then.
"""
import os
import re
import shutil
import subprocess

import pytest

import gaspbpf

HARM = gaspbpf.TOP / "tests" / "workloads" / "harm"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
STATIC = ["-static-libgcc", "-static-libstdc++"]


def build(folder, out, source, *flags, compiler="g++"):
    program = folder / out
    subprocess.run([compiler, "-O1", "-w", HARM / source, "-o", program, *map(str, flags)], check=True,
                   timeout=gaspbpf.PATIENCE)
    return program


@pytest.fixture(scope="module")
def mpi():
    """What a program needs to be linked with MPI's C library, and not with its C++ library, too: a C++ compiler's
    wrapper would."""
    told = subprocess.run(["mpicc.openmpi", "--showme"], capture_output=True, text=True, check=True).stdout.split()
    return ["-DOMPI_SKIP_MPICXX", *told[1:]]


def runs_as_alone(program, *arguments, options=(), said):
    def run(*before):
        return subprocess.run([*map(str, before), program, *arguments], capture_output=True, text=True,
                              timeout=gaspbpf.PATIENCE, env={**os.environ, **AS_ROOT})

    bare = run()
    assert (bare.returncode, bare.stdout) == (0, f"{said}\n"), bare.stderr
    seen = run(gaspbpf.PROGRAM, "-q", *options, "--")
    assert (seen.returncode, seen.stdout.partition("Observed for ")[0]) == (0, f"{said}\n"), seen.stderr
    return seen


def test_a_stripped_program_with_its_own_cxx_library_throws_through_mpi(tmp_path, mpi):
    runs_as_alone(build(tmp_path, "throws", "static_throw.cc", *mpi, *STATIC, "-s"), said="caught 5")


def test_a_library_with_its_own_cxx_library_throws_through_mpi(tmp_path, mpi):
    library = build(tmp_path, "libthrows.so", "static_throw.cc", "-DLIBRARY", "-shared", "-fPIC", *STATIC,
                    "-Wl,--exclude-libs,ALL", *mpi)
    runs_as_alone(build(tmp_path, "calls", "static_throw.c", library, f"-Wl,-rpath,{tmp_path}", *mpi, compiler="gcc"),
                  said="caught 5")


@pytest.mark.parametrize("arguments, said", [([], "caught 1"), (["segv"], "caught 3")],
                         ids=["a time limit", "a bad buffer"])
def test_a_signal_handler_throws_out_of_mpi(tmp_path, mpi, arguments, said):
    runs_as_alone(build(tmp_path, "throws", "signal_throw.cc", *mpi), *arguments, said=said)


def test_a_library_cancels_a_thread_that_waits_in_mpi(tmp_path, mpi):
    library = build(tmp_path, "libends.so", "cancel_by_library.c", "-shared", "-fPIC", "-pthread", compiler="gcc")
    runs_as_alone(build(tmp_path, "waits", "cancel_by_library.cc", library, f"-Wl,-rpath,{tmp_path}", "-pthread", *mpi),
                  said="free")


def test_a_timer_switches_between_pieces_of_one_stack(tmp_path):
    runs_as_alone(build(tmp_path, "switches", "local_stacks.c", "-fopenmp", compiler="gcc"), said="done 1")


def test_coroutines_on_pieces_of_one_stack(tmp_path):
    runs_as_alone(build(tmp_path, "carved", "carved_stacks.c", "-fno-optimize-sibling-calls", compiler="gcc"),
                  options=["-e", "solve"], said="total 50")


def test_a_signal_stack_that_is_disarmed_while_it_is_used(tmp_path):
    runs_as_alone(build(tmp_path, "disarmed", "disarmed.c", "-fopenmp", compiler="gcc"), said="done")


def test_a_program_that_finds_mpi_when_it_runs_throws_through_it(tmp_path, mpi):
    include = [flag for flag in mpi if flag.startswith(("-D", "-I"))]
    runs_as_alone(build(tmp_path, "finds", "runtime_by_name.cc", *include), said="caught 5")


def test_a_library_gives_error_handlers_by_profiling_names(tmp_path, mpi):
    library = build(tmp_path, "libwraps.so", "wrapped_hooks.c", "-shared", "-fPIC", *mpi, compiler="gcc")
    runs_as_alone(build(tmp_path, "throws", "wrapped_hooks.cc", library, f"-Wl,-rpath,{tmp_path}", *mpi),
                  said="caught 5")


@pytest.mark.parametrize("how", [1, 2, 3, 4, 5], ids=["add", "lea", "cmov", "pop", "xor"])
def test_a_stack_is_changed_by_an_unusual_instruction(tmp_path, how):
    runs_as_alone(build(tmp_path, "switches", "odd_switches.c", "-fopenmp", f"-DHOW={how}", compiler="gcc"),
                  said="steps 100")


def test_a_program_looks_for_its_own_leaks(tmp_path):
    runs_as_alone(build(tmp_path, "leaks", "leaks.c", "-fsanitize=address", "-pthread", compiler="gcc"), said="no leak")


@pytest.mark.guest_more
@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("joins", [["--scope=file", "-p"], ["--"]], ids=["-p", "--"])
def test_a_job_beside_that_nobody_observes_throws_through_mpi(job, observe, tmp_path, joins):
    """Both use one library, whose probes are for everybody. It is a copy: nobody else has any of this."""
    copied = tmp_path / "libmpi.so.40"
    shutil.copyfile(next(word.split()[2] for word in subprocess.run(["ldd", gaspbpf.WORKLOADS / "mpi_job_openmpi"],
                                                                    capture_output=True, text=True, check=True)
                         .stdout.splitlines() if "libmpi.so" in word), copied)
    env = {**AS_ROOT, "LD_LIBRARY_PATH": str(tmp_path)}
    launch = ["mpirun.openmpi", "-x", "LD_LIBRARY_PATH", "-n"]
    held = joins == ["--"]
    observed = job([*([gaspbpf.PROGRAM, "-q", "-m", "mpi", *joins] if held else []), *launch, "2",
                    gaspbpf.WORKLOADS / "mpi_job_openmpi"], ranks=2,
                   env=env).wait_ready()
    watcher = None if held else observe("-m", "mpi", *joins, ",".join(map(str, observed.pids())))
    for _ in range(2):
        beside = subprocess.run([*launch, "2", gaspbpf.WORKLOADS / "harm" / "mpi_throws_openmpi"],
                                capture_output=True, text=True, timeout=gaspbpf.PATIENCE, env={**os.environ, **env})
        assert beside.returncode == 0, beside.stderr
        assert beside.stdout.count("caught 25") == 2, beside.stdout
    observed.work()
    assert observed.end() == 0, observed.output()
    said = observed.output() if held else watcher.finish()[1]
    assert re.search(r"GASP_MPI_BARRIER +[1-9]", said), said


def test_a_program_that_takes_its_own_system_calls(tmp_path):
    runs_as_alone(build(tmp_path, "dispatched", "dispatched.c", compiler="gcc"), options=["-F", "solve", "-F", "ask"],
                  said="sum 2450 dispatched 1")


@pytest.mark.guest_more
@pytest.mark.usefixtures("rung")
def test_instructions_that_the_kernel_misreads(tmp_path):
    """Under a breakpoint xchg with r8 is run as a nop, vpor and vmovdqu as jumps."""
    runs_as_alone(build(tmp_path, "misread", "misread.c", compiler="gcc"),
                  options=["-F", "exchange", "-F", "join", "-F", "copy"], said="sum 5050")


@pytest.mark.usefixtures("rung")
def test_constants_among_code_are_no_ends_of_it(tmp_path):
    program = build(tmp_path, "constants", "constants.cc")
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()
    runs_as_alone(program, options=["-F", "behind", "-F", "amidst"], said=said)


@pytest.mark.usefixtures("rung")
def test_a_function_that_was_patched_before(tmp_path, observe):
    program = build(tmp_path, "patched", "patched.c", compiler="gcc")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout.readline() == "ready\n"
            watcher = observe("-F", "compute", "-F", "steady", "-p", target.pid)
            target.stdin.write("c")
            target.stdin.flush()
            target.stdin.close()
            said = target.stdout.read()
            assert (target.wait(timeout=gaspbpf.PATIENCE), said) == (0, f"sum {100 * 1000 + 2 * 4950 - 100}\n")
        finally:
            target.kill()
    _, out, errors = watcher.finish()
    assert "compute is not observed: its code in memory is not that of the file" in errors
    assert re.search(r"GASP_C_FUNC +steady +100\b", out), out


def test_a_job_that_signals_its_process_group(tmp_path):
    program = build(tmp_path, "own_group", "own_group.c", compiler="gcc")
    seen = subprocess.run([gaspbpf.PROGRAM, "-q", "-m", "c", "--", program], capture_output=True, text=True,
                          timeout=gaspbpf.PATIENCE, start_new_session=True)
    assert (seen.returncode, seen.stdout.partition("Observed for ")[0]) == (6, "ended 3\n"), seen.stderr


def test_a_command_has_the_limit_of_its_stack_that_it_was_called_with():
    seen = subprocess.run(["sh", "-c", "ulimit -S -s 96; exec \"$0\" -q -m c -- sh -c 'ulimit -s'", gaspbpf.PROGRAM],
                          capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert (seen.returncode, seen.stdout.splitlines()[0]) == (0, "96"), seen.stderr


@pytest.mark.usefixtures("rung")
def test_functions_that_look_at_their_return_address(tmp_path):
    program = build(tmp_path, "own_return", "own_return.c", "-O2", "-rdynamic", compiler="gcc")
    seen = runs_as_alone(program,
                         options=["-F", "called_by_main", "-F", "next_of", "-F", "parameter", "-F", "handler_*"],
                         said="callers 100 found 100 parameters 4200 sums 4200")
    assert "another tracer" not in seen.stderr


@pytest.mark.usefixtures("rung")
def test_functions_that_tell_who_has_called_them(tmp_path):
    """As -finstrument-functions makes them do."""
    (tmp_path / "told.c").write_text(r"""
#include <stdio.h>
static long known;
__attribute__((no_instrument_function)) int main(void);
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *caller) { known += caller > (void *)main && caller < (void *)main + 4096; }
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *caller) { known += caller > (void *)main && caller < (void *)main + 4096; }
__attribute__((noinline)) int step(int n) { __asm__ volatile(""); return n + 1; }
int main(void) { for (int i = 0; i < 100; i++) step(i); printf("known %ld\n", known); return 0; }
""")
    runs_as_alone(build(tmp_path, "told", tmp_path / "told.c", "-finstrument-functions", compiler="gcc"),
                  options=["-F", "step"], said="known 200")


def test_a_child_whose_pidfd_has_told_its_end_can_be_collected(tmp_path):
    runs_as_alone(build(tmp_path, "pidfd", "pidfd.c", compiler="gcc"), options=["-m", "c"], said="missing 0")


def test_a_process_whose_main_thread_has_ended_is_refused_in_words(tmp_path):
    (tmp_path / "leaderless.c").write_text("""
        #include <pthread.h>
        #include <stdio.h>
        #include <unistd.h>
        static void *stay(void *unused) { puts("ready"); fflush(stdout); sleep(600); return unused; }
        int main(void) { pthread_t t; pthread_create(&t, NULL, stay, NULL); pthread_exit(NULL); }
    """)
    program = tmp_path / "leaderless"
    gaspbpf.compile_c(tmp_path / "leaderless.c", program, "-pthread")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout.readline() == "ready\n"
            gaspbpf.wait_for(lambda: ") Z " in open(f"/proc/{target.pid}/stat", encoding="utf-8").read(),
                             "its main thread to end")
            result = gaspbpf.run("-p", target.pid, "-d", "1")
            assert result.returncode == 1 and "its main thread has ended" in result.stderr, result.stderr
        finally:
            target.kill()
