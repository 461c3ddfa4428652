# SPDX-License-Identifier: BSD-2-Clause
"""Does anything of gaspbpf remain: in the kernel, or in the text of a process?"""
import json
import pathlib
import re
import shutil
import subprocess

import apart
import gaspbpf

BPFTOOL = shutil.which("bpftool") or "/usr/sbin/bpftool"
PROGRAMS = {"session", "call", "leave", "on_fork", "on_exec", "on_exit", "open_frames", "linker"}


def _listed(kind):
    def ask():
        return subprocess.run([BPFTOOL, "-j", kind, "show"], capture_output=True, timeout=gaspbpf.PATIENCE, check=False)

    result = ask()
    for _ in range(20):  # what ends while it is being listed makes bpftool fail
        if not result.returncode:
            break
        result = ask()
    assert not result.returncode, result.stderr
    return json.loads(result.stdout or b"[]")


def held_by(pid):
    """BPF programs and links that a process holds: {("prog", id), ("link", id)}."""
    found = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        try:
            text = info.read_text()
        except OSError:
            continue
        kind = "link" if "link_id:" in text else "prog"
        found |= {(kind, int(number)) for number in re.findall(rf"^{kind}_id:\s*(\d+)$", text, re.MULTILINE)}
    return found


def loaded():
    """All programs and links of this machine."""
    return {(kind, entry["id"]) for kind in ("prog", "link") for entry in _listed(kind)}


def assert_gone(held):
    """What a gaspbpf held does not outlive it. The kernel may take a moment over it."""
    gaspbpf.wait_for(lambda: not held & loaded(), f"the kernel to drop {sorted(held)}", 20)


def orphans():
    """Programs of gaspbpf's that belong to no running gaspbpf (another one may be at work on this machine)."""
    ours = {("prog", entry["id"]) for entry in _listed("prog") if entry.get("name") in PROGRAMS}
    for pid in gaspbpf.pids():
        try:
            if pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace").strip() == "gaspbpf":
                ours -= held_by(pid)
        except OSError:
            pass
    return ours


def assert_no_orphans():
    gaspbpf.wait_for(lambda: not orphans(), "programs of gaspbpf's to leave the kernel", 20)


def places(pid, *options):
    """What gaspbpf would probe in a process: (file, offset) of each."""
    result = gaspbpf.run("list", "-p", pid, "--json", *options)
    assert result.returncode == 0, result.stderr
    found = {(row["file"], row["probe_offset"]) for row in json.loads(result.stdout)["found"]}
    assert found
    return found


def addresses(pid, probed):
    """Where the places lie in a process: (file, offset, address)."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        area, rights, offset, _, _, *path = line.split(maxsplit=5)
        if "x" not in rights or not path:
            continue
        start, end = (int(number, 16) for number in area.split("-"))
        offset = int(offset, 16)
        found += [(file, place, start + place - offset) for file, place in probed
                  if file == path[0] and offset <= place < offset + end - start]
    assert {(file, place) for file, place, _ in found} == set(probed)
    return found


def patched(pid, probed):
    """The places at which the process's text is not what its file says: where a breakpoint is."""
    different = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for file, place, address in addresses(pid, probed):
            with open(file, "rb") as text:
                text.seek(place)
                expected = text.read(16)
            memory.seek(address)
            if memory.read(16) != expected:
                different.add((file, place))
    return different


def copy_of(name, folder):
    """A library of this system as a file of its own: no other process maps it, and nobody else's probes are in it."""
    shutil.copy(apart.FOLDER / name, folder / name)
    return folder / name


def changed_text(pid, file):
    """Bytes of a file's code that a process has otherwise than the file: all of them are looked at."""
    changed = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(file, "rb") as text:
        areas = [line.split(maxsplit=5) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
        areas = [area for area in areas if "x" in area[1] and area[5:] == [str(file)]]
        assert areas
        for area, _, offset, *_ in areas:
            start, end = (int(number, 16) for number in area.split("-"))
            memory.seek(start)
            text.seek(int(offset, 16))
            expected = text.read(end - start)
            there = memory.read(end - start)[:len(expected)]
            if there != expected:
                changed += sum(a != b for a, b in zip(there, expected))
    return changed
