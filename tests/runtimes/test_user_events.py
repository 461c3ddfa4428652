# SPDX-License-Identifier: BSD-2-Clause
"""User events: what a program tells of itself by libpupc, in C, C++ and Fortran, before anybody watched and after."""
import json
import re
import subprocess

import pytest

import conformance
import gaspbpf

USER = gaspbpf.TOP / "tests" / "workloads" / "user"
LIBRARY = gaspbpf.TOP / "build" / "libpupc"
FLAGS = ["-O1", "-g", f"-I{gaspbpf.TOP / 'include'}", f"-I{USER.parent}"]
SHARED = [f"-L{LIBRARY}", "-lpupc", f"-Wl,-rpath,{LIBRARY}"]
STATIC = [str(LIBRARY / "libpupc.a")]
REST = ["-lm", "-lpthread"]

EVENT_OF = {"step": "step", "inner": "inner", "tick": "created from the stack", "nested": "nested"}


def build(tmp_path, name, compiler="cc", library=SHARED, more=()):
    program = tmp_path / name
    common = tmp_path / "job.o"
    subprocess.run(["cc", "-c", *FLAGS, USER.parent / "job.c", "-o", common], check=True, timeout=gaspbpf.PATIENCE)
    subprocess.run([compiler, *FLAGS, *more, USER / f"{name}.c", "-x", "none", common, *library, *REST, "-o", program],
                   check=True, timeout=gaspbpf.PATIENCE)
    return program


def fields(line):
    return dict(re.findall(r"(\S+?)=(\S*)", line.split(" @ ")[0]))


def of_event(lines, kind, event):
    found = [fields(line) for line in lines if f" {kind} {event.replace(' ', chr(92) + 'x20')} " in line + " "]
    assert found, f"no {kind} of {event}"
    return found


def check_values(lines, rounds):
    """Each START and END has the values that the program gave to it."""
    starts = [v for v in of_event(lines, "START", "step") if v["step"] != "-1"]
    assert sorted(int(v["step"]) for v in starts) == sorted(list(range(rounds)) * 2)
    # The text lies on the stack and has changed since: it was read at the call. (The format was known before the first
    # one.)
    assert all(v["of"] == f"round-{v['step']}" for v in starts)
    ends = [v for v in of_event(lines, "END", "step") if v["step"] != "-2"]
    assert sorted(int(v["step"]) for v in ends) == sorted([2 * i for i in range(rounds)] * 2)
    assert all(v["of"] == "constant" for v in ends)
    inner = of_event(lines, "START", "inner")
    for v in inner:
        i = int(v["size"]) - 10 ** 12
        assert 0 <= i < rounds and int(v["then"]) == i + 7 and int(v["flag"]) == i % 3 - 1
        assert v["ratio"] == "0.5" and v["at"].startswith("0x")
        # Of those on the stack the first two: a call with floating point values has no room for more.
        assert (v["arg6"], v["arg7"], v["last"], v["arg9"]) == ("11", "12", "13", "unknown")
    for v in of_event(lines, "END", "inner"):
        assert -rounds < int(v["size"]) <= 0 and v["ratio"] == "1.5" and v["last"] == "23" and v["arg9"] == "unknown"
    return sum(int(v["then"]) for v in inner)


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_events_that_were_created_before_and_after(job, observe, tmp_path):
    """Counts, values and pairs, attached late: names and formats come from the program's memory, or from its calls."""
    program = build(tmp_path, "user_job")
    told = job([program, "--rounds", "20"]).wait_ready()
    recording, text = tmp_path / "run.gasp", tmp_path / "run.events"
    watcher = observe("-p", told.pids()[0], "-m", "pupc", "--json", "-o", recording, "-o", text)
    told.work()
    assert told.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0, errors
    report, truth = json.loads(out), told.truths()[0]
    seen = gaspbpf.events(report)
    assert report["loss"]["lost"] == 0
    for function, counted in truth["functions"].items():
        assert seen[EVENT_OF[function]]["calls"] == counted["calls"], function
    assert set(seen) == set(EVENT_OF.values())
    assert "open before of process" in errors and "ended 1 time without having started" in errors
    lines = text.read_text().splitlines()
    assert check_values(lines, 20) == truth["values"]
    assert truth["control"] == 1
    assert not [line for line in lines if " end=" in line and " ATOMIC " not in line]
    again = json.loads(gaspbpf.run("report", recording, "--json").stdout)
    assert again["events"] == report["events"]
    conformance.seen("libpupc",
                     *[f"GASP_PUPC_{what}" for what in ("CREATE_EVENT", "EVENT_START", "EVENT_END", "EVENT_ATOMIC")])


@pytest.mark.parametrize("compiler, library", [("c++", STATIC), ("cc", STATIC)], ids=["c++", "static"])
def test_other_builds(tmp_path, compiler, library):
    """A C++ program, and one that has the library in itself; from their first call on, with a trace that is valid
    JSON."""
    program = build(tmp_path, "user_job", compiler, library, ["-x", "c++"] if compiler == "c++" else [])
    trace, truth = tmp_path / "run.json", tmp_path / "truth"
    ran = gaspbpf.run("-m", "pupc", "--json", "-q", "-o", trace, "--", program, "--rounds", "12", "--truth", truth)
    assert ran.returncode == 0, ran.stderr
    seen = gaspbpf.events(json.loads(ran.stdout[ran.stdout.index("{"):]))  # the job has its say first
    for function, counted in json.loads(truth.read_text())["functions"].items():
        more = 1 if function == "step" else 0  # that before the window
        assert seen[EVENT_OF[function]]["calls"] == counted["calls"] + more, function
    assert seen["open before"]["calls"] == 1
    spans = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("name") == "inner"]
    assert len(spans) == 24 and all(e["args"]["ratio"] == 0.5 and e["args"]["last"] == 13 and e["args"]["arg9"] is None
                                    for e in spans)


def test_fortran(job, observe, tmp_path):
    """The module's calls with values, and FORTRAN 77's by reference."""
    program = tmp_path / "user_job"
    subprocess.run(["gfortran", "-g", "-J", tmp_path, gaspbpf.TOP / "include" / "pupc.f90", USER / "user_job.f90",
                    USER / "old_style.f90", *SHARED, "-o", program],
                   check=True, timeout=gaspbpf.PATIENCE)
    told = job([program], gate=False)
    gaspbpf.wait_for(lambda: (told.folder / "ready").exists(), "the job to be ready")
    text = tmp_path / "run.events"
    watcher = observe("-p", told.process.pid, "-m", "pupc", "--json", "-o", text)
    (told.folder / "go").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    seen = gaspbpf.events(json.loads(out))
    assert {name: row["calls"] for name, row in seen.items()} == {"fortran step": 25, "fortran mark": 25,
                                                                  "old style": 25}
    lines = text.read_text().splitlines()
    assert [int(v["step"]) for v in of_event(lines, "START", "fortran step")] == list(range(1, 26))
    assert [int(v["step"]) for v in of_event(lines, "END", "fortran step")] == [-i for i in range(1, 26)]
    assert [int(v["bytes"]) for v in of_event(lines, "ATOMIC", "fortran mark")] == [i * 10 ** 10 for i in range(1, 26)]


def test_without_anybody(tmp_path):
    """The library alone: numbers in the range, one a name, also when there is no more room; PUPC 1.1's calls and
    clock."""
    source = tmp_path / "alone.c"
    source.write_text("""
        #include <pupc.h>
        #include <gasp_upc.h>
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
        #define CHECK(what) if (!(what)) { printf("%s\\n", #what); return 1; }
        int main(void)
        {
            unsigned first = pupc_create_event("a", "%d"), old = ((unsigned (*)(const char *, const char *))pupc_create_event)("b", (void *)1), id = 0;
            char name[32];
            pupc_tick_t before = pupc_ticks_now();

            CHECK(first >= GASP_UPC_USEREVT_START && first <= GASP_UPC_USEREVT_END && first >= 0xC0000000u);
            CHECK(old == first + 1 && pupc_create_event("a", 0) == first && pupc_create_event("b", 0) == old);
            for (int i = 0; i < 3000; i++) {
                snprintf(name, sizeof(name), "event %d", i);
                id = pupc_create_event(name, 0);
                CHECK(id > old && id <= GASP_UPC_USEREVT_END);
            }
            CHECK(pupc_create_event("a", 0) == first && pupc_create_event("never", 0) == id);
            pupc_event_start(first, 1); pupc_event_end(first, 2); pupc_event_stop(first); pupc_event_atomic(old);
            CHECK(pupc_control(0) == 1 && pupc_control(0) == 0 && pupc_control(1) == 0 && pupc_control(1) == 1);
            /* One clock inside the other: however slow the machine is, the ticks are between them. */
            long long outer = now(), inner, us;
            before = pupc_ticks_now();
            inner = now();
            usleep(50000);
            inner = now() - inner;
            us = pupc_ticks_to_us(pupc_ticks_now() - before);
            outer = now() - outer;
            CHECK(us >= inner / 1000 - 1 && us <= outer / 1000 + 1 && pupc_tick_granularityus() >= 1);
            return 0;
        }
        """)
    for library in (SHARED, STATIC):
        subprocess.run(["cc", *FLAGS, source, *library, "-o", tmp_path / "alone"], check=True, timeout=gaspbpf.PATIENCE)
        ran = subprocess.run([tmp_path / "alone"], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
        assert ran.returncode == 0, ran.stdout


def test_entries_begin_with_a_nop():
    """Of one byte, which each kernel emulates, at each entry of the library: what Linux 6.18 makes of five is not there
    in children."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", LIBRARY / "libpupc.so"], capture_output=True,
                             text=True, check=True).stdout
    for function in ("pupc_create_event", "pupc_event_start", "pupc_event_end", "pupc_event_atomic", "pupc_control",
                     "pupc_event_start_", "pupc_event_end_", "pupc_event_atomic_"):
        block = re.search(rf"<{function}>:\n(.*)\n", listing) \
            or re.search(rf"<pupc_(?:start|end|event_stop)>:\n(.*)\n", listing)
        assert re.search(r"\tnop$", block.group(1).rstrip()), function


def test_a_number_that_nobody_created(tmp_path):
    """An event without a name keeps its number; two names for one number are both told; a broken table is none."""
    source = tmp_path / "odd.c"
    source.write_text("""
        #include <string.h>
        unsigned gasp_create_event(void *context, const char *name, const char *desc) __attribute__((weak, noinline));
        unsigned gasp_create_event(void *context, const char *name, const char *desc) { __asm__ volatile("" ::: "memory"); return 0; }
        void pupc_event_start(unsigned tag, ...) __attribute__((noinline));
        void pupc_event_start(unsigned tag, ...) { __asm__ volatile("" ::: "memory"); }
        void pupc_event_end(unsigned tag, ...) __attribute__((noinline));
        void pupc_event_end(unsigned tag, ...) { __asm__ volatile("" ::: "memory"); }
        struct { char magic[8]; unsigned version, size, first, room, used; int on; const void *entries; } pupc_table =
            { "PUPCTABL", 1, 256, 0xC0000000u, 1024, 1000, 1, (void *)0x10 };
        int main(void)
        {
            unsigned a = gasp_create_event(0, "first", 0), b = gasp_create_event(0, "second", "%d");
            for (int i = 0; i < 5; i++) { pupc_event_start(a); pupc_event_end(b); }
            for (int i = 0; i < 3; i++) { pupc_event_start(0xC0000005u); pupc_event_end(0xC0000005u); }
            pupc_event_start(77);
            return 0;
        }
        """)
    gaspbpf.compile_c(source, tmp_path / "odd", "-O1")
    text = tmp_path / "odd.events"
    ran = gaspbpf.run("-m", "pupc", "--json", "-q", "-o", text, "--", tmp_path / "odd")
    assert ran.returncode == 0, ran.stderr
    calls = {name: row["calls"] for name, row in gaspbpf.events(json.loads(ran.stdout)).items()}
    assert calls == {"first|second": 5, "user_event_3221225477": 3, "user_event_77": 1}
    assert re.search(r" END user_event_77 end=exit", text.read_text())
