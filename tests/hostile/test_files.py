# SPDX-License-Identifier: BSD-2-Clause
"""Files that were made to be looked through for ever: a monitor serves on, others' jobs are counted, and what is given
up is said."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest

import gaspbpf
import monitored
import monitoring
import rights

NOBODY = ["setpriv", f"--reuid={rights.NOBODY}", f"--regid={rights.NOBODY}", "--clear-groups"]
PROGRAM = r"""
#include <unistd.h>
void shmem_barrier_all(int);
__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
int main(void)
{
	for (int i = 0;; i = work(i)) {
		shmem_barrier_all(0);
		usleep(1000);
	}
}
"""
END = '.section .note.GNU-stack,"",@progbits\n'
PLAIN = "void shmem_barrier_all(int n) { __asm__ volatile(\"\" : : \"r\"(n)); }\nvoid shmem_init(void) { }\n"


WIDE = 60


def function(name, jumps_to=(), padding=0, scope=".local"):
    return (f".p2align 4\n{scope} {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\nendbr64\npush %rbp\npop "
            "%rbp\ntest %edi, %edi\n" +
            "".join(f"jne {target}\n" for target in jumps_to) +
            f".rept {padding}\nnopw 0(%rax,%rax,1)\n.endr\nret\n.cfi_endproc\n.size {name}, . - {name}\n")


def last_calls(folder, library):
    """A function ends in calls of 60 others, each of these in calls of 60 more, and so on: 216,000 ways to its ends, of
    30 kB each."""
    levels = [[f"{level}{n}" for n in range(WIDE)] for level in ("one", "two", "three")] + [[]]
    text = function("shmem_barrier_all", levels[0], scope=".globl")
    for level, below in zip(levels, levels[1:]):
        text += "".join(function(name, below, 0 if below else 5000) for name in level)
    (folder / "library.s").write_text(".text\n" + text + END)
    gaspbpf.compile_c(folder / "library.s", library, "-shared", "-nostdlib", f"-Wl,-soname,{library.name}")
    return folder / "program.c"


def with_dwarf(folder, library, units, *options):
    """A plain library, and a program whose DWARF is this one."""
    (folder / "library.c").write_text(PLAIN)
    gaspbpf.compile_c(folder / "library.c", library, "-shared", "-fPIC", f"-Wl,-soname,{library.name}")
    (folder / "units.s").write_text(units + END)
    return folder / "program.c", folder / "units.s", *options


ABBREVIATIONS = '.section .debug_abbrev,"",@progbits\n'
UNITS = '.section .debug_info,"",@progbits\n'


def ranges(count):
    return (ABBREVIATIONS + ".uleb128 1, 0x11\n.byte 0\n.uleb128 0x55, 0x17, 0x11, 0x01, 0, 0\n.byte 0\n" +
            UNITS + ".rept 200000\n.long 20\n.value 4\n.long 0\n.byte 8\n.uleb128 1\n.long 0\n.quad 0\n.endr\n" +
            f'.section .debug_ranges,"",@progbits\n.fill {2 * count}, 8, 1\n.quad 0, 0\n')


def empty_ranges(folder, library):
    """200,000 units of DWARF have the same million ranges of no address; packed, that is a hundred kilobytes."""
    return with_dwarf(folder, library, ranges(1_000_000), "-Wl,--compress-debug-sections=zlib")


def packed(folder, library):
    """A gigabyte of nothing as DWARF; packed, that is a megabyte."""
    return with_dwarf(folder, library, ranges(64_000_000), "-Wl,--compress-debug-sections=zlib")


def abbreviations(folder, library):
    """Each of 20,000 units begins with the last one of 300,000 abbreviations."""
    return with_dwarf(folder, library, ABBREVIATIONS + ".set n, 1\n.rept 300000\n.uleb128 n, 0x11\n.byte 0, 0, 0\n.set "
                      "n, n + 1\n.endr\n.byte 0\n" +
                      UNITS + ".rept 20000\n.long 10\n.value 4\n.long 0\n.byte 8\n.uleb128 300000\n.endr\n")


def lines(folder, library):
    """Sixteen million lines at one address; packed, that is thirty kilobytes."""
    return with_dwarf(folder, library, ABBREVIATIONS + ".uleb128 1, 0x11\n.byte 0\n.uleb128 0x10, 0x17, 0x11, 0x01, "
                      "0x12, 0x07, 0, 0\n.byte 0\n" +
                      UNITS + ".long 2f - 1f\n1: .value 4\n.long 0\n.byte 8\n.uleb128 1\n.long 0\n.quad "
                      "main, 64\n2:\n" +
                      '.section .debug_line,"",@progbits\n.long 2f - 1f\n1: .value 4\n.long 4f - 3f\n'
                      "3: .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0\n.asciz \"a.c\"\n.byte "
                      "0, 0, 0, 0\n4: .byte 0, 9, 2\n.quad main\n.fill 16000000, 1, 18\n.byte 0, 1, 1\n2:\n",
                      "-Wl,--compress-debug-sections=zlib")


def types(folder, library):
    """A function takes a function of 64 parameters, of which each is such a function again."""
    return with_dwarf(folder, library,
                      ABBREVIATIONS + ".uleb128 1, 0x11\n.byte 1\n.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0\n"
                      ".uleb128 2, 0x2e\n.byte 1\n.uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0\n"
                      ".uleb128 3, 0x05\n.byte 0\n.uleb128 0x49, 0x13, 0, 0\n.uleb128 4, 0x15\n.byte 1\n.uleb128 0, "
                      "0\n.byte 0\n" +
                      UNITS + ".Lunit: .long 2f - 1f\n1: .value 4\n.long 0\n.byte 8\n.uleb128 1\n.quad main, 64\n"
                      ".uleb128 2\n.asciz \"work\"\n.quad work, 8\n.uleb128 3\n.long .Ltype - .Lunit\n.byte 0\n"
                      ".Ltype: .uleb128 4\n.rept 64\n.uleb128 3\n.long .Ltype - .Lunit\n.endr\n.byte 0, 0\n2:\n")


def pops(folder, library):
    """A function of 100,000 constants, each of which reads four times like a stack pointer that is loaded anew."""
    (folder / "library.s").write_text(".text\n" + function("shmem_barrier_all", scope=".globl") +
                                      ".type many, @function\nmany:\n"
                                      ".rept 100000\nmovabs $0xc35cc35cc35cc35c, %rax\n.endr\nret\n.size many, . - "
                                      "many\n" + END)
    gaspbpf.compile_c(folder / "library.s", library, "-shared", "-nostdlib", f"-Wl,-soname,{library.name}")
    return folder / "program.c"


def long_kinds(folder, library):
    """The entries of .eh_frame, 400,000 of them, are of one of two kinds by turns, and each of these is described by a
    text of ten megabytes."""
    kind = ('.long 2f - 1f\n1:\n.long 0\n.byte 1\n.ascii "zR"\n.fill 10000000, 1, 83\n.byte 0, 1, 0x78, 16, 1, '
            '0x1b\n.p2align 2\n2:\n')
    entry = ".long 17\n5: .long 5b - {0}\n.quad 0x4000\n.long 16\n.byte 0\n"
    (folder / "library.s").write_text(".text\n" + function("shmem_barrier_all", scope=".globl") +
                                      '.section .eh_frame,"a",@progbits\n3:\n' + kind + "4:\n" + kind +
                                      ".rept 200000\n" + entry.format("3b") + entry.format("4b") + ".endr\n" + END)
    gaspbpf.compile_c(folder / "library.s", library, "-shared", "-nostdlib", f"-Wl,-soname,{library.name}")
    return folder / "program.c"


def same_names(folder, library):
    """A million functions of one name, each somewhere else."""
    plain = folder / "plain.so"
    (folder / "library.s").write_text(".text\n" + function("shmem_barrier_all", scope=".globl") +
                                      "many:\n.fill 16000000, 1, 0xc3\n" + END)
    gaspbpf.compile_c(folder / "library.s", plain, "-shared", "-nostdlib", f"-Wl,-soname,{library.name}")
    data = bytearray(plain.read_bytes())
    for at in sections(data):
        if struct.unpack_from("<I", data, at + 4)[0] != 2:
            continue
        offset, size = struct.unpack_from("<QQ", data, at + 24)
        table = bytearray(data[offset:offset + size])
        entries = [table[n:n + 24] for n in range(0, size, 24)]
        entry = next(e for e in entries if e[4] & 15 == 2)
        place, = struct.unpack_from("<Q", entry, 8)
        for n in range(1, 1_000_001):
            struct.pack_into("<QQ", entry, 8, place + 16 + 15 * n, 15)
            table += entry
        struct.pack_into("<QQ", data, at + 24, len(data), len(table))
        data += table
    library.write_bytes(data)
    library.chmod(0o755)
    return folder / "program.c"


def sections(data):
    """Where the section headers lie."""
    headers, = struct.unpack_from("<Q", data, 0x28)
    return [headers + 64 * n for n in range(struct.unpack_from("<H", data, 0x3c)[0])]


def holes(folder, library):
    """Tables of names of a gigabyte, of which nothing is on the disk."""
    plain = folder / "plain.so"
    (folder / "library.c").write_text(PLAIN)
    gaspbpf.compile_c(folder / "library.c", plain, "-shared", "-fPIC", f"-Wl,-soname,{library.name}")
    data = bytearray(plain.read_bytes())
    headers = sections(data)
    tables = {headers[struct.unpack_from("<I", data, at + 40)[0]] for at in headers
              if struct.unpack_from("<I", data, at + 4)[0] in (2, 11)}
    with open(library, "wb") as out:
        for n, at in enumerate(sorted(tables)):
            offset, size = struct.unpack_from("<QQ", data, at + 24)
            out.seek((n + 1) << 30)
            out.write(data[offset:offset + size])
            struct.pack_into("<QQ", data, at + 24, (n + 1) << 30, 1 << 30)
        out.seek(0)
        out.write(data)
        out.truncate((len(tables) + 1) << 30)
    return folder / "program.c"


@contextlib.contextmanager
def running(attack):
    """The program of nobody's that maps such a file."""
    with rights.folder() as folder:
        library, program = folder / "liboshmem.so.40", folder / monitoring.unique("evil")
        (folder / "program.c").write_text(PROGRAM)
        sources = attack(folder, library)
        gaspbpf.compile_c(*([sources, program] if not isinstance(sources, tuple)
                            else [sources[0], program, *sources[1:]]), "-O1", "-Wl,--no-as-needed",
                          library, f"-Wl,-rpath,{folder}")
        process = subprocess.Popen([*NOBODY, str(program)])
        gaspbpf.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program), "the program to run")
        try:
            yield process, program.name
        finally:
            process.kill()
            process.wait()


# What the log says of each.
SAID = {last_calls: "where its functions end", empty_ranges: "the addresses of its units",
        packed: "packed as no compiler packs it",
        abbreviations: "the addresses of its units", lines: "too many lines of one unit",
        long_kinds: "how its functions are left", holes: "mostly holes"}


def status(pid):
    """What /proc says behind the name."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def busy(pid):
    """Seconds of processor time that it has taken. How long something takes is told by that: the machine may have other
    work."""
    return sum(map(int, status(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def scraped(watcher):
    """Asks the monitor for its metrics all the time; what comes is how much processor time it took until each
    answer."""
    pid, url, took, end = watcher.process.pid, monitored.url_of(watcher), [], threading.Event()

    def ask():
        while not end.is_set():
            before = busy(pid)
            monitored.get(url)
            took.append(busy(pid) - before)
            time.sleep(0.05)
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        end.set()
        thread.join()


# A process that is small itself: the memory that one has had counts from before its exec, and a process that runs tests
# may be large.
MEASURE = """
import json, os, subprocess, sys
_, status, usage = os.wait4(subprocess.Popen(sys.argv[2:]).pid, 0)
with open(sys.argv[1], "w") as out:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10], out)
"""


def run_to_its_end(folder, *arguments):
    """Exit status, stdout, stderr, and how much memory it had at most."""
    done = subprocess.run([sys.executable, "-c", MEASURE, folder / "usage", gaspbpf.PROGRAM, *map(str, arguments)],
                          capture_output=True, text=True)
    status, memory = json.loads((folder / "usage").read_text())
    return status, done.stdout, done.stderr, memory


@pytest.mark.parametrize("attack", SAID, ids=lambda attack: attack.__name__)
def test_it_comes_up_beside_the_process(attack, tmp_path):
    with running(attack) as (process, _):
        code, said, errors, memory = run_to_its_end(tmp_path, "--returns=sites", "-m", "shmem", "-F", "work", "-p",
                                                    process.pid, "-d", "100ms")
        assert code == 0, errors
        assert errors.count(SAID[attack]) == 1, errors
        assert re.search(r"GASP_C_FUNC +work +[1-9]", said), said
        assert memory < 512 << 20


@pytest.mark.parametrize("attack", [types, pops], ids=lambda attack: attack.__name__)
def test_nothing_of_it_is_given_up(attack):
    with running(attack) as (process, _):
        result = gaspbpf.run("-m", "shmem", "-F", "work", "-p", process.pid, "-d", "100ms")
        assert result.returncode == 0, result.stderr
        assert re.search(r"GASP_C_FUNC +work +[1-9]", result.stdout), result.stdout


@pytest.mark.parametrize("attack", [last_calls, holes], ids=lambda attack: attack.__name__)
def test_list_says_it(attack):
    with running(attack) as (process, _):
        result = gaspbpf.run("list", "--returns=sites", "-m", "shmem", "-p", process.pid)
        assert result.stderr.count(SAID[attack]) == 1, result.stderr


def watching(observe, *names):
    chosen = (word for name in names for word in ("--comm", name))
    # No limit: it would take the probes out of what is called too often, and say so, but then the other job's calls are
    # not whole.
    return observe("monitor", "--listen", "0", "--lazy", "--max-overhead", "none", "--returns=sites", "-m", "shmem",
                   *chosen, ready="monitoring")


def figure(url, name):
    return monitored.scrape_anew(url)[f"gaspbpf_{name}"][0][1]


@pytest.mark.parametrize("attack", [last_calls, long_kinds, holes, same_names], ids=lambda attack: attack.__name__)
def test_a_monitor_serves_on(attack, observe, runtime, tmp_path):
    honest, gate = runtime("honest"), monitoring.Gate(tmp_path / "gate")
    watcher = watching(observe, honest.name, "evil*")
    url = monitored.url_of(watcher)
    with scraped(watcher) as took, running(attack):
        if attack in SAID:
            gaspbpf.wait_for(lambda: figure(url, "files_refused_total"), "the file to be given up")
        if attack is not holes:  # there nothing is left to be observed
            gaspbpf.wait_for(lambda: figure(url, "processes") == 1, "the process to be observed")
        before = figure(url, "processes")
        job = honest.start(500, 20, gate)
        gaspbpf.wait_for(lambda: figure(url, "processes") > before, "the other job to be observed")
        gate.let_through(job)

        def calls():
            return monitored.total(monitored.scrape_anew(url), "gaspbpf_process_calls_total", "event", comm=honest.name)
        gaspbpf.wait_for(lambda: calls().get("GASP_SHMEM_BARRIER_ALL") == 500 and calls().get("GASP_SHMEM_PUT") == 20,
                         "the other job's calls")
        assert monitored.scrape_anew(url)["gaspbpf_resident_bytes"][0][1] < 256 << 20
    assert max(took) < 1, sorted(took)[-5:]
    code, _, errors = watcher.stop()
    assert code == 0 and errors.count(SAID.get(attack, "monitoring")) == 1, errors


def test_what_was_refused_is_remembered(observe):
    """Fifty processes map the file, and others come and go: it is looked at once, and said once."""
    watcher = watching(observe, "evil*")
    url = monitored.url_of(watcher)
    with running(last_calls) as (first, name):
        gaspbpf.wait_for(lambda: figure(url, "files_refused_total"), "the file to be given up")
        others = [subprocess.Popen([*NOBODY, os.readlink(f"/proc/{first.pid}/exe")]) for _ in range(50)]
        try:
            gaspbpf.wait_for(lambda: figure(url, "noticed_processes_total") >= 51, "all of them to be noticed")
        finally:
            for other in others:
                other.kill()
                other.wait()
        assert figure(url, "files_refused_total") == 1
    code, _, errors = watcher.stop()
    assert code == 0 and errors.count(SAID[last_calls]) == 1, errors


def test_it_ends_in_the_midst_of_a_file(observe):
    watcher = watching(observe, "evil*")
    pid = watcher.process.pid
    with running(long_kinds):
        began = busy(pid)
        gaspbpf.wait_for(lambda: busy(pid) - began > 0.05, "it to be at work")
        asked = busy(pid)
        watcher.process.send_signal(signal.SIGTERM)
        gaspbpf.wait_for(lambda: status(pid)[0] == "Z", "its end")
        assert busy(pid) - asked < 1
    watcher.stop()


# Now whole, now empty, without a pause.
REWRITE = """
import sys, time
whole = open(sys.argv[1], "rb").read()
while True:
    with open(sys.argv[2], "wb") as file:
        file.write(whole)
        file.flush()
        time.sleep(0.002)
    open(sys.argv[2], "wb").close()
    time.sleep(0.002)
"""


def test_a_file_that_is_cut_short_meanwhile():
    """Its owner writes it anew all the time, while a thread stands in it: it is read as far as it goes, and nobody dies
    of it."""
    with rights.folder() as folder:
        library, whole, program = folder / "libwaits.so", folder / "whole.so", folder / monitoring.unique("evil")
        (folder / "library.c").write_text("int pause(void);\nint wait_here(void) { return pause() + 1; }\n")
        (folder / "program.c").write_text("int wait_here(void);\nint main(void) { return wait_here() + 1; }\n")
        gaspbpf.compile_c(folder / "library.c", whole, "-shared", "-fPIC", "-g", f"-Wl,-soname,{library.name}")
        shutil.copy(whole, library)
        os.chown(library, rights.NOBODY, rights.NOBODY)
        gaspbpf.compile_c(folder / "program.c", program, "-O1", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}")
        process = subprocess.Popen([*NOBODY, str(program)])
        gaspbpf.wait_for(lambda: status(process.pid)[0] == "S"
                         and os.readlink(f"/proc/{process.pid}/exe") == str(program), "it to wait")
        writer = subprocess.Popen([*NOBODY, sys.executable, "-c", REWRITE, str(whole), str(library)])
        try:
            for words in 40 * [["stuck", "--no-probes", "-d", "1ms"]] + 5 * [["list", "-m", "shmem"]]:
                result = gaspbpf.run(*words, "-p", process.pid)
                assert result.returncode in (0, 1), (words, result.returncode, result.stderr)
            assert process.poll() is None and writer.poll() is None
        finally:
            for each in writer, process:
                each.kill()
                each.wait()


def test_names_with_escapes(tmp_path):
    """What a file or a function is called reaches nobody's terminal as a command to it."""
    folder = tmp_path / "red\x1b[31m\x07\r"
    folder.mkdir()
    (folder / "program.s").write_text(".globl main\n.type main, @function\nmain: jmp main\n"
                                      '.globl "do_\x1b[2Jit"\n.type "do_\x1b[2Jit", '
                                      '@function\n"do_\x1b[2Jit":\nendbr64\nret\n.size "do_\x1b[2Jit", . - '
                                      '"do_\x1b[2Jit"\n' + END)
    gaspbpf.compile_c(folder / "program.s", folder / "evil")
    assert b"\x1b[2J" in (folder / "evil").read_bytes()
    process = subprocess.Popen([folder / "evil"])
    try:
        gaspbpf.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(folder / "evil"), "the program to run")
        for words in (["list", "--every-function", folder / "evil"], ["list", "-v", "-F", "do_*", "-p", process.pid],
                      ["-v", "-F", "do_*", "-p", process.pid, "-d", "50ms"],
                      ["stuck", "-p", process.pid, "--no-probes", "-d", "50ms"]):
            result = gaspbpf.run(*words)
            assert not set(result.stdout + result.stderr) & set("\x1b\x07\r"), (words, result)
    finally:
        process.kill()
        process.wait()
