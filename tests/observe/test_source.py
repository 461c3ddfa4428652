# SPDX-License-Identifier: BSD-2-Clause
"""Where a call is written: file, line and column, however the program was built, and nothing pretended where that is
not known."""
import pathlib
import re
import subprocess
import textwrap

import pytest

import gaspbpf

SOURCE = textwrap.dedent("""
    #include <stdio.h>
    #include <stdlib.h>
    static inline __attribute__((always_inline)) void *box(size_t n)
    {
        return malloc(n); /* inlined twice: this is where the call stands */
    }
    int main(void)
    {
        puts("ready"); fflush(stdout); getchar();
        void *volatile a = box(111), *volatile b = box(222);
        free(a); free(b);
        puts("done"); fflush(stdout); getchar();
        return 0;
    }
    """)

BUILDS = {
    "pie": ["-pie", "-fPIE"],
    "no-pie": ["-no-pie"],
    "clang": ["clang"],
    "build-id": ["-pie", "-fPIE", "-Wl,--build-id"],
    "debug file": ["-pie", "-fPIE", "-Wl,--build-id=none"],
    "symbols in .gnu_debugdata": ["-pie", "-fPIE"],
    "nothing": ["-g0", "-s"],
}


def move_by_build_id(program):
    """The debugging information goes where debuggers look for it by the program's build-id."""
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    name = re.search(r"Build ID: (\w+)", notes)[1]
    place = pathlib.Path("/usr/lib/debug/.build-id", name[:2], f"{name[2:]}.debug")
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, place], check=True)
    subprocess.run(["strip", program], check=True)
    return place


def build(kind, folder):
    source, program = folder / "job.c", folder / "job"
    source.write_text(SOURCE)
    options = BUILDS[kind]
    compiler = "clang" if options == ["clang"] else "cc"
    subprocess.run([compiler, "-O1", "-g", *[option for option in options if option != "clang"], "-o", program, source],
                   check=True)
    if kind == "debug file":
        script = "objcopy --only-keep-debug job job.debug && strip job && objcopy --add-gnu-debuglink=job.debug job"
    elif kind.startswith("symbols"):
        script = ("nm job --format=posix --defined-only | cut -d' ' -f1 | sort > keep; objcopy --strip-debug "
                  "job symbols;strip job; xz -k symbols; objcopy --add-section .gnu_debugdata=symbols.xz job")
    else:
        script = "true"
    subprocess.run(script, shell=True, check=True, cwd=folder)
    return program


def places():
    """Line and column of the name of each called function, as the source says."""
    lines = SOURCE.split("\n")

    def at(text, after=""):
        line = next(i for i, each in enumerate(lines) if text in each)
        return line + 1, lines[line].index(text, lines[line].index(after)) + 1

    return {"malloc": at("malloc(n)"), "free a": at("free(a)"), "free b": at("free(b)")}


@pytest.mark.parametrize("kind", BUILDS)
def test_where_a_call_is_written(observe, tmp_path, kind, request):
    program = build(kind, tmp_path)
    if kind == "build-id":
        request.addfinalizer(move_by_build_id(program).unlink)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        try:
            assert job.stdout.readline() == "ready\n"
            watcher = observe("-p", job.pid, "-m", "c", "-o", tmp_path / "run.events")
            job.stdin.write("\n")
            job.stdin.flush()
            assert job.stdout.readline() == "done\n"
            status, _, errors = watcher.stop()
            assert status == 0, errors
        finally:
            job.kill()
    starts = [line for line in (tmp_path / "run.events").read_text().splitlines() if " START " in line]
    ours = {size: next(line for line in starts if f"nbytes={size} " in line) for size in (111, 222)}
    after = starts[starts.index(ours[222]) + 1:]
    frees = [line for line in after if "GASP_C_FREE" in line][:2]
    where = [line.split(" @ ")[1] for line in (ours[111], ours[222], *frees)]
    if kind in ("pie", "no-pie", "clang", "build-id", "debug file"):
        known = places()
        expected = [known["malloc"], known["malloc"], known["free a"], known["free b"]]
        assert where == [f"{tmp_path}/job.c:{line}:{column}" for line, column in expected]
    elif kind == "nothing":
        assert all("job" in each and ".c:" not in each and "main" not in each for each in where), where
    else:
        assert all(each.startswith("main+0x") for each in where), where


LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void *pass(int bytes);
int main(void)
{
	puts("ready"); fflush(stdout); getchar();
	for (int i = 0; i < 200; i++) {
		void *other = dlopen("libother.so", RTLD_NOW);

		free(pass(3333));
		dlclose(other);
		free(pass(3334));
	}
	puts("done"); fflush(stdout); getchar();
	return 0;
}
"""


def test_a_library_that_the_program_needs_is_never_in_doubt(tmp_path, observe):
    """Others come and go faster than anybody can look; it stays where it is, and calls from it have their lines."""
    for name, text in {"pass.c": "#include <stdlib.h>\nvoid *pass(int bytes)\n{\n\tvoid *got = "
                       "malloc(bytes);\n\treturn got;\n}\n", "other.c": "int other = 1;\n", "loads.c": LOADS}.items():
        (tmp_path / name).write_text(text)
    for name in "pass", "other":
        gaspbpf.compile_c(tmp_path / f"{name}.c", tmp_path / f"lib{name}.so", "-g", "-shared", "-fPIC")
    gaspbpf.compile_c(tmp_path / "loads.c", tmp_path / "loads", "-g", "-Wl,--no-as-needed", f"-L{tmp_path}", "-lpass",
                      f"-Wl,-rpath,{tmp_path}")
    with subprocess.Popen([tmp_path / "loads"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            watcher = observe("-p", program.pid, "-m", "c", "-o", tmp_path / "run.events")
            program.stdin.write("\n"), program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            status, _, errors = watcher.stop()
            assert status == 0, errors
            program.communicate("\n")
        finally:
            program.kill()
    calls = [line for line in (tmp_path / "run.events").read_text().splitlines()
             if re.search(r" (START|ATOMIC) GASP_C_MALLOC nbytes=333[34] ", line)]
    assert len(calls) == 400
    assert [line for line in calls if not re.search(r"@ \S*/pass\.c:4(:\d+)?$", line)] == []


def starts(folder, event, program, *options):
    """Where the calls of the event were written, each place once: "file:line"."""
    recording = folder / "run.gasp"
    result = gaspbpf.run("-q", "-o", recording, *options, "--", program, env={"OMP_NUM_THREADS": "2"})
    assert result.returncode == 0, result.stderr
    assert gaspbpf.run("export", recording, "-o", folder / "run.events").returncode == 0
    lines = [line for line in (folder / "run.events").read_text().splitlines() if f" START {event} " in line + " "]
    return {pathlib.Path(line.split(" @ ")[1]).name.rsplit(":", 1)[0] for line in lines if " @ " in line}


def marked(path, mark):
    return {f"{path.name}:{number}" for number, line in enumerate(path.read_text().splitlines(), 1) if mark in line}


GUARDED = r"""
#include <mutex>
struct guarded {
    std::mutex own;
    long sum = 0;
    void add(long n)
    {
        std::lock_guard<std::mutex> hold(own); // locks
        sum += n;
    }
};
"""
LOCKS = r"""
#include "guarded.hpp"
static std::mutex first, second;
int main()
{
    guarded g;
    for (int i = 0; i < 3; i++) {
        {
            std::unique_lock<std::mutex> hold(first); // locks
            g.sum++;
        }
        second.lock(); // locks
        g.add(i);
        second.unlock();
    }
    return g.sum != 6;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_headers_of_the_system_call(tmp_path, compiler):
    """std::mutex locks in a header, that is inlined: the place is where the program says so, in whichever file of its
    own."""
    (tmp_path / "guarded.hpp").write_text(GUARDED)
    (tmp_path / "locks.cpp").write_text(LOCKS)
    subprocess.run([compiler, "-O2", "-g", "-pthread", "-o", tmp_path / "locks", tmp_path / "locks.cpp"], check=True)
    places = starts(tmp_path, "GASP_PTHREAD_MUTEX_LOCK", tmp_path / "locks", "-m", "pthread")
    assert {place for place in places if not place.startswith("dl-")} >= (
        marked(tmp_path / "locks.cpp", "// locks") | marked(tmp_path / "guarded.hpp", "// locks"))
    assert not any("gthr" in place or "mutex" in place for place in places), places


REGIONS = {"c": r"""
#include <stdio.h>
#include <omp.h>
static long sum;
static double now(void) { return omp_get_wtime(); }
static void in_a_function(void)
{
    double t = now();

#pragma omp parallel
    {
#pragma omp atomic
        sum += 1;
    }
    sum += now() < t;
}
int main(void)
{
    puts("begins");


#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 10; i++) {
#pragma omp atomic
            sum += i;
        }
    }
    double t = now();

#pragma omp parallel for
    for (int i = 0; i < 10; i++) {
#pragma omp atomic
        sum += i;
    }
    printf("%d\n", now() < t);

#pragma omp parallel num_threads(2)
#pragma omp single
    {

#pragma omp task
        sum++;
    }
    in_a_function();
    return 0;
}
""", "f90": r"""
program regions
  use omp_lib
  implicit none
  integer :: i
  real(8) :: s, t
  s = 0
  t = omp_get_wtime()

  !$omp parallel do reduction(+:s)
  do i = 1, 1000
    s = s + sqrt(real(i, 8))
  end do
  print *, s, omp_get_wtime() < t

  !$omp parallel
  call told()
  !$omp end parallel
end program
subroutine told()
  print *, "w"
end subroutine
"""}


@pytest.mark.parametrize("compiler, source", [("gcc -O0", "c"), ("gcc -O2", "c"), ("g++ -O3 -x c++", "c"),
                                              ("clang -O2", "c"), ("gfortran -O2", "f90")])
def test_a_parallel_region_is_where_its_directive_stands(tmp_path, compiler, source):
    """GCC's call for it has the line of whatever stands before it; its body is a function that begins there."""
    path = tmp_path / f"regions.{source}"
    path.write_text(REGIONS[source])
    subprocess.run([*compiler.split(), "-g", "-fopenmp", "-o", tmp_path / "regions", path], check=True)
    directives = marked(path, "#pragma omp parallel" if source == "c" else "!$omp parallel")
    assert starts(tmp_path, "GASP_OMP_PARALLEL", tmp_path / "regions") == directives
    if compiler.startswith("g") and source == "c":
        assert starts(tmp_path, "GASP_OMP_TASK", tmp_path / "regions") == marked(path, "#pragma omp task")
