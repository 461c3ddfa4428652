# SPDX-License-Identifier: BSD-2-Clause
"""Libraries whose tables say what no linker writes, and that name files to be looked at beside them: it is seen in no
time, said, and harms nobody else."""
import lzma
import os
import re
import struct
import subprocess

import pytest

import beside
import gaspbpf
import rights

# Calls, and maps further files as code.
PROGRAM = r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
void shmem_barrier_all(int);
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[i], O_RDONLY), 0);
	for (;;) {
		shmem_barrier_all(0);
		usleep(1000);
	}
}
"""
SYMTAB, STRTAB, DYNSYM = 2, 3, 11
SYMBOLS = 1_000_000


def headers(data):
    """Where those of the sections lie."""
    table, = struct.unpack_from("<Q", data, 0x28)
    return [table + 64 * n for n in range(struct.unpack_from("<H", data, 0x3c)[0])]


def of_kind(data, *kinds):
    return [at for at in headers(data) if struct.unpack_from("<I", data, at + 4)[0] in kinds]


def sections_without_end(data):
    """The number of sections is in the first of them, as of a file of 65,280 and more: 2^40."""
    first = headers(data)[0]
    struct.pack_into("<H", data, 0x3c, 0)
    struct.pack_into("<Q", data, first + 32, 1 << 40)
    return data


def no_sections(data):
    struct.pack_into("<Q", data, 0x28, 0)
    struct.pack_into("<H", data, 0x3c, 0)
    return data


def sizes(data):
    """Each function reaches to the end of all addresses, and beyond."""
    for at in of_kind(data, SYMTAB, DYNSYM):
        offset, size = struct.unpack_from("<QQ", data, at + 24)
        for entry in range(offset, offset + size, 24):
            if data[entry + 4] & 15 == 2:
                struct.pack_into("<Q", data, entry + 16, (1 << 64) - 1)
    return data


def names_to_the_end(data):
    """Tables of names go on to the end of the file, where no NUL ends the last one."""
    for at in of_kind(data, STRTAB):
        offset, = struct.unpack_from("<Q", data, at + 24)
        struct.pack_into("<Q", data, at + 32, len(data) + 4 - offset)
    return data + b"name"


def segments(data):
    """4,000 pieces of code, none of which a million symbols are in."""
    table, = struct.unpack_from("<Q", data, 0x20)
    count, = struct.unpack_from("<H", data, 0x38)
    own = bytes(data[table:table + 56 * count])
    data += bytes(-len(data) % 4096)
    struct.pack_into("<Q", data, 0x20, len(data))
    struct.pack_into("<H", data, 0x38, 4000 + count)
    data += b"".join(struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, 1, 1, 4096)
                     for address in range(1 << 40, (1 << 40) + (4000 << 12), 4096)) + own
    at, = of_kind(data, SYMTAB)
    offset, size = struct.unpack_from("<QQ", data, at + 24)
    symbols = bytes(data[offset:offset + size])
    struct.pack_into("<QQ", data, at + 24, len(data), size + 24 * SYMBOLS)
    return data + symbols + SYMBOLS * struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 1 << 50, 1)


def stripped(library, section, contents):
    """Without its own symbols and build-id, and with this section."""
    part = library.with_name("section")
    part.write_bytes(contents)
    subprocess.run(["strip", "--remove-section", ".note.gnu.build-id", library], check=True)
    subprocess.run(["objcopy", "--add-section", f"{section}={part}", library], check=True)


def packed(library):
    """250 MiB of symbols, packed in 40 KB."""
    stripped(library, ".gnu_debugdata", lzma.compress(library.read_bytes() + bytes(250 << 20), preset=1))


def link_to(library, name):
    stripped(library, ".gnu_debuglink", name + b"\0" * (4 - len(name) % 4) + b"\1\2\3\4")


def debug_links(library):
    """Its debug file is a FIFO, a device, a link that leads to itself, or one that leads out of its folder."""
    link_to(library, b"debug")
    os.mkfifo(library.with_name("debug"))
    library.with_name(".debug").mkdir()
    os.symlink("/dev/zero", library.with_name(".debug") / "debug")


def a_link_to_itself(library):
    link_to(library, b"debug")
    os.symlink("other", library.with_name("debug"))
    os.symlink("debug", library.with_name("other"))


def a_link_that_leads_out(library):
    link_to(library, b"../../../../../../proc/kcore")


# What is said of each; of the others the calls are counted.
ATTACKS = {sections_without_end: ("maps no known runtime",), no_sections: ("maps no known runtime",), sizes: (),
           names_to_the_end: (),
           segments: ("more than 128 segments", "maps no known runtime"), packed: ("packed as no symbols are",),
           debug_links: (), a_link_to_itself: (), a_link_that_leads_out: ()}
OF_THE_FILE = sections_without_end, no_sections, sizes, names_to_the_end, segments


@pytest.fixture(name="evil")
def making():
    """Starts a process that has such a library, and its attack done to it."""
    with rights.folder() as folder:
        def start(attack, *arguments):
            program, library = beside.build(folder, PROGRAM), folder / "liboshmem.so.40"
            if attack in OF_THE_FILE:
                data = attack(bytearray(library.read_bytes()))
                if attack is segments:  # no loader takes that one
                    library = folder / "liboshmem.so.41"
                    arguments = (*arguments, library)
                    gaspbpf.compile_c(folder / "program.c", program, "-O1", "-Dshmem_barrier_all(n)=")
                library.write_bytes(data)
            else:
                attack(library)
            return beside.running(program, *arguments)
        yield start


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_it_is_looked_at(evil, attack):
    with evil(attack) as process:
        gaspbpf.wait_for(lambda: "liboshmem" in open(f"/proc/{process.pid}/maps").read(), "its library")
        result = gaspbpf.run("-m", "shmem", "-p", process.pid, "-d", "200ms")
        for text in ATTACKS[attack]:
            assert result.stderr.count(text) == 1, result.stderr
        if "maps no known runtime" in ATTACKS[attack]:
            assert result.returncode == 1
        else:
            assert result.returncode == 0, result.stderr
            assert re.search(r"GASP_SHMEM_BARRIER_ALL +[1-9]", result.stdout), result.stdout
        assert process.poll() is None


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_beside_a_monitor(evil, attack, monitors, runtime, tmp_path):
    m = beside.Monitor(monitors, runtime, tmp_path)
    with evil(attack) as process:
        if "maps no known runtime" not in ATTACKS[attack]:
            m.wait_for_evil(process)
        m.an_honest_job_is_exact()
        said = m.ends_well()
    for text in set(ATTACKS[attack]) - {"maps no known runtime"}:
        assert said.count(text) == 1, said


COPIES, DEBUG_FILE = 10, 300 << 20


def test_one_debug_file_of_many(observe, tmp_path):
    """Ten libraries name one large file as theirs, which is none's: it is read once."""
    with rights.folder() as folder:
        program, library = beside.build(folder, PROGRAM), folder / "liboshmem.so.40"
        link_to(library, b"debug")
        copies = []
        for number in range(COPIES):
            (folder / str(number)).mkdir()
            copies.append(folder / str(number) / library.name)
            copies[-1].write_bytes(library.read_bytes() + bytes([number]))
        with open(folder / "0" / "debug", "wb") as file:
            for at in range(0, DEBUG_FILE, 4 << 20):
                file.seek(at)
                file.write(library.read_bytes()[:16384].ljust(1 << 17, b"x"))
            file.truncate(DEBUG_FILE)
        for number in range(1, COPIES):
            os.link(folder / "0" / "debug", folder / str(number) / "debug")
        with beside.running(program, *copies) as process:
            gaspbpf.wait_for(lambda: f"{folder}/{COPIES - 1}/" in open(f"/proc/{process.pid}/maps").read(),
                             "its libraries")
            watcher = observe("-m", "shmem", "-p", process.pid, "-o", tmp_path / "run.gasp")
            read = int(re.search(r"rchar: (\d+)", open(f"/proc/{watcher.process.pid}/io").read())[1])
            assert DEBUG_FILE < read < 2 * DEBUG_FILE
            assert watcher.stop()[0] == 0
