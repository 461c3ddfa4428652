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
