#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Inputs for the fuzz targets to begin with: build/fuzz/seeds/TARGET, made anew each time; and build/fuzz/data.

Small real things, each of which takes another way through the reader: ELF files of several compilers and options,
recordings, models, requests. And what has been a finding once (`found`), so that it is tried for ever.
"""
import base64
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import zlib

TOP = pathlib.Path(__file__).resolve().parents[2]
FUZZ = TOP / "build" / "fuzz"
SEEDS = FUZZ / "seeds"
DATA = FUZZ / "data"

# --- ELF files -------------------------------------------------------------------------

PROGRAM = r"""
struct point { double x, y, z; };
struct pointer { unsigned long address; unsigned thread, phase; };
struct shared_pointer { unsigned long thread : 16, phase : 16, addr : 32; };
int MYTHREAD = 3, counter;
__thread int each = 4;
struct shared_pointer sp;
extern int away(int);
extern void *malloc(unsigned long);
extern void _dl_debug_state(void);
static inline __attribute__((always_inline)) int inlined(int a) { return away(a) * 3; }
static int helper(int a) { return inlined(a + 1) ^ counter; }
int leaf(int a) { return a * 7; }
int jumps(int a) { return away(a); }
double moves(struct point p, struct pointer *q) { q->address += 8; return p.x + p.y * p.z + sp.addr; }
int loops(int n) { int s = 0; for (int i = 0; i < n; i++) { s += leaf(i); if (s > 100) break; } return s; }
int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1); }
int table(int a, int b)
{
    switch (a) {
    case 0: return away(b); case 1: return b * 3; case 2: counter = b; return 2; case 3: return helper(b); case 4: return b - 9;
    case 5: return away(b + 2); case 6: return b << 3; case 7: return loops(b); case 8: return jumps(b); case 9: return -b;
    }
    return 0;
}
static const char told[] = "GASP of a text"; const char *tell(void) { return told; }
void *gets(unsigned long n) { char big[300]; for (int i = 0; i < 300; i++) big[i] = i ^ n; away(big[n % 300]); return malloc(n); }
void state_sign(void) { __asm__ volatile("ret; nop"); }
"""

MPI = r"""
typedef int MPI_Comm; typedef struct { int a[6]; } MPI_Status;
extern int PMPI_Init(int *, char ***);
int MPI_Init(int *c, char ***v) { return 0; }
int MPI_Send(const void *b, int n, int t, int d, int tag, MPI_Comm c) { return n + d; }
int MPI_Recv(void *b, int n, int t, int s, int tag, MPI_Comm c, MPI_Status *st) { return n; }
int MPI_Isend(const void *b, int n, int t, int d, int tag, MPI_Comm c, void *r) { return 0; }
int MPI_Barrier(MPI_Comm c) { return 0; }
int MPI_Allreduce(const void *s, void *r, int n, int t, int o, MPI_Comm c) { return 0; }
int MPI_Comm_dup(MPI_Comm c, MPI_Comm *n) { *n = c + 1; return 0; }
int MPI_Waitany(int n, void *r, int *i, MPI_Status *s) { *i = 0; return 0; }
int MPI_Pcontrol(int level, ...) { return level; }
int MPI_Finalize(void) { return 0; }
"""

CPLUSPLUS = r"""
extern int away(int);
struct guard { int *p; guard(int *q) : p(q) {} ~guard() { --*p; } };
namespace solver { template<class T> struct mesh { T cells[4]; int step(T by) { int n = 1; guard g(&n); if (by > 3) throw by; return away(n); } }; }
int go(double d) { solver::mesh<double> m = {}; try { return m.step(d); } catch (double e) { return (int)e; } }
"""

ASSEMBLER = r"""
.text
.globl traps, emulated, away_at_end, unsized, lock_first, jumps_in
.type traps,@function
traps: endbr64; 1: mov (%rdi), %eax; test %eax, %eax; je 2f; jmp 1b; 2: ret
.size traps, . - traps
.type emulated,@function
emulated: nopl 0(%rax,%rax,1); push %rbp; mov %rsp, %rbp; pop %rbp; ret
.size emulated, . - emulated
.type away_at_end,@function
away_at_end: mov %edi, %eax; test %eax, %eax; jne elsewhere; 1: ret
.pushsection .text.unlikely, "ax"
elsewhere: lea others(%rip), %rdx; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax
.popsection
.pushsection .rodata
.balign 4
others: .long elsewhere - others, 1b - others, 0x7fffffff
.popsection
.size away_at_end, . - away_at_end
.type unsized,@function
unsized: xor %eax, %eax; push %rax; pop %rax; jmp *8(%rdi)
.type lock_first,@function
lock_first: lock incl (%rdi); .byte 0x06; xbegin lock_first; loop lock_first; jrcxz traps; ret
.size lock_first, . - lock_first
.type jumps_in,@function
jumps_in: .byte 0xe9; .long -60; .byte 0x66, 0xe9; .long 0
.size jumps_in, 1 << 40
"""

# A function that the compiler cuts out, and what a header of the system calls.
CUT_OUT = r"""
# 1 "/usr/include/inlined.h" 1
static inline void in_header(long *n) { extern void beyond(long *); beyond(n); }
# 1 "cut_out.c"
void region(long *n)
{
#pragma omp parallel
    in_header(n);
}
void outside(long *n) { in_header(n); }
"""

RULES = r"""
.text
.globl ruled
.type ruled,@function
ruled: .cfi_startproc
push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp; .cfi_remember_state
call ruled; .cfi_escape 0x0f,3,0x77,8,6; .cfi_escape 0x10,3,2,0x76,0x70; .cfi_undefined %rbx; .cfi_same_value %r12
.cfi_adjust_cfa_offset 8; .cfi_rel_offset %r13, 8; pop %rbp; .cfi_restore_state; .cfi_def_cfa %rsp, 8; .cfi_restore %rbp; ret
.cfi_endproc
.size ruled, . - ruled
"""

LEAN = ["-nostdlib", "-Wl,-z,noseparate-code", "-Wl,--build-id", "-Wl,-z,lazy", "-Wl,--hash-style=gnu"]
SHARED = ["-shared", "-fPIC"]


def compiled(folder, name, source, *options, compiler="gcc", suffix="c"):
    """The bytes of a small ELF file; None: there is no such compiler here, or it does not know the option."""
    text, out = folder / f"{name}.{suffix}", folder / name
    text.write_text(source)
    result = subprocess.run([compiler, *LEAN, "-o", out, text, *options], capture_output=True)
    return out.read_bytes() if result.returncode == 0 else None


def elf_files(folder):
    made = {}

    def make(name, *arguments, **more):
        made[name] = compiled(folder, name, *arguments, **more)

    make("plain", PROGRAM, *SHARED, "-O2", "-g", "-Wl,-soname,libplain.so.1")
    make("dwarf4", PROGRAM, *SHARED, "-O2", "-gdwarf-4", "-fdebug-types-section")
    make("dwarf3_O0", PROGRAM, *SHARED, "-O0", "-gdwarf-3", "-gstrict-dwarf")
    make("packed_debug", PROGRAM, *SHARED, "-O2", "-g", "-gz")
    make("split", PROGRAM, *SHARED, "-O2", "-g", "-gsplit-dwarf")
    make("clang", PROGRAM, *SHARED, "-O2", "-g", "-fcf-protection", compiler="clang")
    make("stripped", PROGRAM, *SHARED, "-O2", "-s", "-Wl,--hash-style=sysv")
    make("program", PROGRAM + "void _start(void) { loops(table(3, 4)); } int away(int a) { return a; } void "
         "*malloc(unsigned long n) { return 0; }",
         "-O2", "-g", "-static", "-no-pie")
    make("pie", PROGRAM + "void _start(void) { loops(1); }", "-O2", "-pie", "-fPIE",
         "-Wl,--unresolved-symbols=ignore-all")
    make("sections", PROGRAM, *SHARED, "-Os", "-ffunction-sections", "-freorder-blocks-and-partition",
         "-Wl,-z,pack-relative-relocs")
    make("assembler", ASSEMBLER, "-shared", "-Wl,-Bsymbolic", suffix="s")
    make("rules", RULES, "-shared", suffix="s")
    make("libmpi", MPI, *SHARED, "-O1", "-g", "-Wl,-soname,libmpi.so.40")
    make("libc", PROGRAM + "void free(void *p) {} void *malloc(unsigned long n) { return 0; }", *SHARED, "-O2",
         "-Wl,-soname,libc.so.6", "-fno-builtin")
    make("cplusplus", CPLUSPLUS, *SHARED, "-O2", "-g", compiler="g++", suffix="cc")
    make("cut_out", CUT_OUT, *SHARED, "-O2", "-g", "-fopenmp")
    for name, option in {"debug_only": "--only-keep-debug", "no_debug": "--strip-debug"}.items():
        subprocess.run(["objcopy", option, folder / "plain", folder / name], check=True)
        made[name] = (folder / name).read_bytes()
    made["no_sections"] = made["plain"][:0x28] + bytes(8) + made["plain"][0x30:0x3c] + bytes(4) + made["plain"][0x40:]
    made["minidebug"] = with_minidebug(folder)
    return {name: data for name, data in made.items() if data}


def with_minidebug(folder):
    """.gnu_debugdata: an ELF file, packed by xz, in an ELF file."""
    import lzma
    (folder / "symbols.xz").write_bytes(lzma.compress((folder / "plain").read_bytes()))
    result = subprocess.run(["objcopy", "--strip-all", "--add-section", f".gnu_debugdata={folder / 'symbols.xz'}",
                             folder / "plain", folder / "mini"],
                            capture_output=True)
    return (folder / "mini").read_bytes() if result.returncode == 0 else None


# --- the rest ----------------------------------------------------------------------------

def threads_on_stacks(files):
    """For unwind: 17 registers and 512 bytes of stack before the file."""
    generator = random.Random(1)
    for name, data in files.items():
        for start in (0x1000, 0x400, 0x1234):
            registers = [generator.choice([0, 0x7ffd00001000 + generator.randrange(512), 0x555500000000 + start])
                         for _ in range(17)]
            registers[7], registers[16] = 0x10, start
            stack = b"".join(struct.pack("<Q",
                                         generator.choice([0x555500000000 + start + generator.randrange(256),
                                                           0x7ffd00001000 + 8 * generator.randrange(64), 5]))
                             for _ in range(64))
            yield f"{name}.{start:x}", struct.pack("<17Q", *registers) + stack + data


# Offsets of fields, as in user/stacks/cpython.c; 3.13 is told them by a table of its own: where they stand in that.
SCRIPT = {
    11: dict(interpreters=40, threads=16, record=56, record_frame=8, record_previous=16, code=32, previous=48,
             instruction=56, is_last=68, owner=69, file=112, function=128, table=136, line=72, bytes=184, ascii=48),
    12: dict(interpreters=40, threads=72, record=56, record_frame=0, record_previous=8, code=0, previous=8,
             instruction=56, owner=70, file=112, function=128, table=136, line=68, bytes=192, ascii=40),
    13: dict(interpreters=632, threads=72, record=72, code=0, previous=8, instruction=56, owner=70, file=112,
             function=128, table=136, line=68, bytes=200, ascii=40)}
SCRIPT_TABLE = {40: "interpreters", 72: "threads", 184: "record", 232: "previous", 240: "code", 248: "instruction",
                264: "owner", 280: "file", 296: "function", 304: "table", 312: "line", 344: "bytes", 560: "ascii"}


def scripts():
    """For script: the version, and an interpreter's memory with one thread, in two frames of one script."""
    base, code, name, lines, first, second, mark, record = (0x500000000000 + at for at in (
        0, 0x1000, 0x1400, 0x1600, 0x2000, 0x2200, 0x2400, 0x2600))
    interpreter, thread = base + 0x800, base + 0xc00
    for version, at in SCRIPT.items():
        memory = bytearray(0x3000)

        def put(address, form, value, memory=memory):
            struct.pack_into("<" + form, memory, address - base, value)

        if version == 13:
            memory[:8] = b"xdebugpy"
            for place, field in SCRIPT_TABLE.items():
                put(base + place, "Q", at[field])
            put(base + 168, "Q", 8)  # the next thread
        put(base + at["interpreters"], "Q", interpreter)
        put(interpreter + at["threads"], "Q", thread)
        put(thread + at["record"], "Q", first if version == 13 else record)
        if version < 13:
            put(record + at["record_frame"], "Q", first)
        for frame, behind in ((first, second), (second, first if version == 11 else mark)):
            put(frame + at["code"], "Q", code)
            put(frame + at["previous"], "Q", behind)
            put(frame + at["instruction"], "Q", code + at["bytes"] + 4)
        put((second if version == 11 else mark) + at.get("is_last", at["owner"]), "B", 1 if version == 11 else 3)
        put(code + 8, "Q", base)  # its type
        for field, value in (("file", name), ("function", name), ("table", lines)):
            put(code + at[field], "Q", value)
        put(code + at["line"], "I", 7)
        put(name + 16, "Q", 6)
        put(name + 32, "I", 1 << 2 | 1 << 5 | 1 << 6)  # a byte a character, compact, ASCII
        memory[name - base + at["ascii"]:name - base + at["ascii"] + 6] = b"job.py"
        put(lines + 16, "Q", 8)
        memory[lines - base + 32:lines - base + 40] = bytes([0x80 | 11 << 3 | 1, 1, 2, 0x80 | 13 << 3 | 3, 5, 0, 1, 1])
        yield f"3.{version}", bytes([version]) + memory
        if version == 11:
            put(code + at["line"], "I", 0)
            put(lines + 33, "B", 5 << 1 | 1)
            put(lines + 32, "B", 0x80 | 13 << 3 | 3)
            yield "before_the_first", bytes([version]) + memory
            put(record + at["record_previous"], "Q", record)
            yield "ring", bytes([version]) + memory


MODELS = {
    "small": "model test\nlanguage TEST\nlibrary libtest.so* program\nrank env A_RANK B_RANK\nranks env SIZE\n"
             "BARRIER barrier void test_barrier(void)\nGET get void test_{short,int}_get(T *dst, const T *src, size_t "
    "n @count, int pe @peer)\n"
             "SEND send int test_send(const void *b @ptr, int n @count, long t @type, int d @peer, int tag @tag, void "
    "*c @comm, ...)\n",
    "user": "model user\nlibrary program\nA user starts void f(unsigned tag @id, ...)\nB user notifies void g(void *c, "
    "unsigned tag @id, int kind @kind, va_list varargs)\n",
    "bad": "model \nlibrary\nX y z(\n",
}

CONFIG = {
    "usual": "# what to watch\nall\nlisten       127.0.0.1:9464\nmax-series = 5\nmodels=mpi,+c\n",
    "wrong": "listen\nall = 3\nno-such 5\nconfig /etc/x\n",
    "events": "GASP_UPC_MEMCPY\n# no\n\nPUPC_GET\nGASP_MPI_*\n",
}

PROC = {
    "maps": "555500000000-555500001000 r-xp 00000000 fd:01 1234   /usr/bin/a b\\012c (deleted)\n7ffd0000-7ffe0000 rw-p "
    "00000000 00:00 0 [stack]\n"
            "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
    "stat": "42 (a) b) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 10 18446744073709551615 1 1 0 0 0 0 "
    "0 0 0 0 0 0 17 0 0 0 0 0 0 1 2 3 4 5 6 0\n",
    "status": "Name:\ta\nTgid:\t42\nUid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\nSigCgt:\t0000000180000440\nSeccomp:\t2\n",
    "environ": "PMI_RANK=3\0A=\0OMPI_COMM_WORLD_RANK=1\0SLURM_JOB_ID=77\0",
    "cgroup": "12:cpu:/a\n0::/system.slice/slurmstepd.scope/job_77/step_0\n",
    "cmdline": "./a\0--b\0\0",
    "elf32": "\x7fELF\x01\x01\x01",
}

HTTP = {
    "get": b"\xffGET /metrics HTTP/1.1\r\nHost: a\r\nAccept: "
    b"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1\r\n\r\n",
    "protobuf": b"\x02GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: "
    b"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n\r\n",
    "two": b"\xffGET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "post": b"\x10POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    "length": b"\x04PUT /metrics HTTP/1.0\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n0123456789",
    "accept": b"\xfftext/plain;version=0.0.4;charset=utf-8;q=0.9, application/openmetrics-text; version=\"1.0.0\"; q=1",
}

CONTROL = {name.split()[0] + str(i): name for i, name in enumerate(
    ["1 on", "1 off", "1 dump", "99999999999 on", "0 off", "-5 dump", "1 on x", "done 1 0 /tmp/a.gasp", "done 3 2",
     "failed no room", "forbidden", "later", "unknown"])}

COMPOSED = {
    "ring": "process 100 0\nprocess 200 1\nprocess 300 2\n"
            "call 100 1000 2000 MPI_Send dest=1 tag=5 count=10\ncall 200 1500 2500 MPI_Recv source=0 tag=5\ncall 100 "
    "3000 4000 MPI_Barrier\n"
            "call 200 3100 4000 MPI_Barrier\ncall 300 3500 4000 MPI_Barrier\nend 5000\n",
    "nested": "process 100 -1\nthread 100 101\ncall 100 1200 1500 work\ncall 100 1000 2000 other\natomic 101 1100 "
    "work\nend 3000\n",
    "asking": "process 100 0\nprocess 200 1\nthread 200 201\n"
    "call 200 100 110 MPI_Irecv source=0 tag=5 count=1 request=7 comm.id=0\n"
    "call 200 200 600 MPI_Test request=7 flag=0\ncall 200 700 1100 MPI_Testall array_of_requests.0=7 flag=0\n"
    "call 100 1000 1010 MPI_Send dest=1 tag=5 count=10 comm.id=0\ncall 200 1150 1200 MPI_Test request=7 flag=1\n"
    "call 200 1300 1400 MPI_Iprobe source=-1 tag=-1 flag=0 comm.id=0\n"
    "call 100 1500 1510 MPI_Send dest=1 tag=6 count=10 comm.id=0\n"
    "call 200 1420 1530 MPI_Iprobe source=-1 tag=-1 flag=1 status.source=0 status.tag=6 comm.id=0\n"
    "call 201 1420 1530 MPI_Probe source=0 tag=6 status.source=0 status.tag=6 comm.id=0\n"
    "call 200 1540 1550 MPI_Recv source=0 tag=6 status.source=0 status.tag=6 comm.id=0\n"
    "call 100 1600 1610 MPI_Send dest=1 tag=7 count=10 comm.id=0\n"
    "call 200 1560 1620 MPI_Mprobe source=0 tag=7 message=9 status.source=0 status.tag=7 comm.id=0\n"
    "call 200 1630 1640 MPI_Mrecv count=1 message=9\ncall 201 1600 1700 MPI_Iprobe source=0 tag=9 flag=0 comm.id=0\n"
    "end 3000\n",
}


def records():
    """For records and announced: bytes by chance, in the shape of their records, with some that matter."""
    generator = random.Random(2)
    for i in range(20):
        out = bytearray()
        for sequence in range(1, 40):
            kind = generator.choice([0, 1, 3, 4, 5, 6, 7])
            out += bytes([kind])
            if kind == 1:
                out += struct.pack("<BBBHBBHBBB16s", generator.choice([0, 1, 64]), generator.randrange(10), 0,
                                   sequence * 10, sequence, 0, 9, 0, 1, 1, b"name")[:27 + 16]
            elif kind:
                values = generator.randrange(12)
                out += struct.pack("<BBBBHHHBBBB", generator.choice([0, 1, 1, 2]), values, generator.randrange(24),
                                   sequence, sequence * 20, 15,
                                   generator.randrange(0xffff), 0, 0, generator.randrange(8), generator.randrange(11))
                out += bytes(generator.randrange(256) for _ in range(values * 5))
        yield f"records.{i}", bytes(out)


def announced():
    generator = random.Random(3)
    for i, text in enumerate([b"step %d of %s at %p: %5.*f %Lf %zx", b"%", b"%s%s%hhu%ld", b"%*d" * 8, b""]):
        out = bytearray([len(text)]) + text + bytes([i, 3, i & 1])
        for name in (b"a|b", b"phase", b"\xff\n"):
            out += struct.pack("64s192s", name, text)
        for _ in range(30):
            values = generator.randrange(25)
            out += struct.pack("<BBBBHHHBBBB", generator.choice([0, 1]), values, 10 + generator.randrange(14), 1,
                               generator.randrange(500), 15, 77, 0, 0, 0, 0)
            out += bytes(generator.choice([0, 1, i, 0x60, 255]) for _ in range(values * 5))
        yield f"announced.{i}", bytes(out)


def tool_pages():
    for state in range(5):
        yield f"state.{state}", struct.pack("<4I4QI36s480s", state, state % 7, 0, 1, 5, 6, 7, 2, 1, b"StarPU",
                                            b"why \x1b[31m" * 40) + bytes([state, state * 16])


# --- what was found ------------------------------------------------------------------------

def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes([*out, number])


def chunk(kind, raw):
    """As it stands in a recording: user/recording/chunk.h."""
    head = kind + struct.pack("<3I", 0, len(raw), len(raw))
    return head + struct.pack("<II", zlib.crc32(raw, zlib.crc32(head)), 0) + raw


def chunks(recording):
    at = 16
    while at < len(recording):
        stored = struct.unpack_from("<I", recording, at + 8)[0]
        yield recording[at:at + 4], recording[at:at + 24 + stored]
        at += 24 + stored


def claims(elf, size, packed=None):
    """A file whose first packed section says that it becomes so many bytes; and that it has so many, packed."""
    out, (sections,), (count,
                       ) = bytearray(elf), struct.unpack_from("<Q", elf, 0x28), struct.unpack_from("<H", elf, 0x3c)
    for at in range(sections, sections + 64 * count, 64):
        flags, _, offset = struct.unpack_from("<3Q", elf, at + 8)
        if flags & 0x800:  # SHF_COMPRESSED
            struct.pack_into("<Q", out, offset + 8, size)
            if packed:
                struct.pack_into("<Q", out, at + 32, packed)
            break
    return bytes(out)


# Calls and process life in which the number of a thread is given anew, unseen, while what its successor creates is
# looked for ahead; packed.
NUMBER_GIVEN_ANEW = (
    "c-muO;^b!(Vc=&dP-I|WWIWSaT#{H)dZ3K?V(#t7bK|C;Qe>0QVd7`d`^Lb)#8{id&d4eZRxcgMz`(||O!Mp6ipK_=8~A7cahGCQ"
    "asCU_w~V6YA*+~~*!Y+<fa>fHGcd3)=I*ZExi6-=IQxC&>5hybhV!3x#-zsnV0OvQXV7}d&d4RsYy(srq7PKe#?89JdXCVpkB98k"
    "-b8u6Q0Vaft~PZNZ<hL1hxoZ~Q$^OimiH^!Jl8zYzmRXKO}FVj6;?)WZk7O`0W*QVU}K)g#j(yuRl-g3{{R98PEdg6CFZ6wAOUtp"
    "1~w@UV1UjP1-g{wuXVTAQWi#LHfb54nE!2{0(Q$ECl|}T7QOwtO5?F%gpYK>CFXO{y4R<%NAk{SRqYL1GWpU=T{(g0iI1+w-?9*E"
    "J;yYUorzggp#f-u#!HZ;XCE$K)xI>bKqW1+V3~UwBO@b&7o#F}2Z1C*7?t3X5Ybe)b6LbyE&vUV*aDPiZ8XlYxxKxR-G*%iU!z`f"
    "eohL{lJjhgY{IHffNHeA0MiJY?2e9xnn`Bibs@jIZSvmbPo0zUVL7L==>AulLXIh{jGPQ=KY)rS%mPJq)AO>7%{m&!zM9kOR=Mcg"
    "vORVSnfUWoZbe1)wk^xK%4}GG4v;Ybsu%bSirJ7F8@^u0<97vI#pE)Dn_>h0ZPEtX&n)Z0#6M`#rBIn3)AJ*2t+(E2E8W*%XJF(~"
    "=V9h&5UykZr&tD7X5td9;+I;J7QAT;0PG@*wE"
)


def found(files, recordings, frames):
    """(target, name, bytes): what was a finding once."""
    yield "records", "number_given_anew", zlib.decompress(base64.b85decode(NUMBER_GIVEN_ANEW))
    yield "dwarf", "packed_claims", claims(files["packed_debug"], 1936029536)
    yield "dwarf", "packed_beyond", claims(files["packed_debug"], 956301312, 16 << 20)
    flat, head = recordings["job.flat"], recordings["job.flat"][:16]
    beyond = varint(0) + varint(1517915)  # entry 0, of so many bytes that are not there
    first = 1 + 8 + struct.unpack_from("<I", frames, 5)[0]  # the kind of tool, and the frame that tells the run
    for target in ("recording", "report", "archive", "merge"):
        yield target, "entry_beyond", head + chunk(b"PROC", beyond)
        yield target, "run_beyond", head + chunk(b"RUN ", beyond)
        yield target, "nothing", head
        yield target, "no_spans", head + b"".join(data for kind, data in chunks(flat) if kind not in (b"SPAN", b"LATE"))
        yield target, "spans_alone", head + b"".join(data for kind, data in chunks(flat) if kind != b"LATE")
    yield "tool_pipe", "large_frame", b"\0" + struct.pack("<II", 1, 256 << 20)
    yield "tool_pipe", "entry_beyond", frames[:first] + struct.pack("<II", 2, len(beyond)) + beyond


# --- all -----------------------------------------------------------------------------------

def write(target, name, data):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode("latin-1") if isinstance(data, str) else data)


def main():
    shutil.rmtree(SEEDS, ignore_errors=True)
    work = SEEDS / "work"
    for folder in (work, DATA, SEEDS / "recording", SEEDS / "tool_pipe"):
        folder.mkdir(parents=True, exist_ok=True)
    files = elf_files(work)
    shutil.copy(work / "libmpi", DATA / "libmpi.so.40")
    for target in ("elf", "dwarf", "place", "plan"):
        for name, data in files.items():
            write(target, name, data)
    for name, data in threads_on_stacks(files):
        write("unwind", name, data)
    for name, text in COMPOSED.items():
        subprocess.run([TOP / "build" / "tests" / "compose", work / name, TOP / "models"], input=text, text=True,
                       check=True)
    subprocess.run([FUZZ / "tools" / "recordings", SEEDS, *(work / name for name in COMPOSED)], check=True)
    recordings = {path.name: path.read_bytes() for path in (SEEDS / "recording").iterdir()}
    for name, data in recordings.items():
        write("report", name, data)
        write("archive", name, data)
        write("merge", name, data)
    for model in sorted((TOP / "models").glob("*.model")):
        # of the larger ones, one input would take a second
        write("model", model.name, model.read_bytes()[:4000].rpartition(b"\n")[0] + b"\n")
    for target, texts in {"model": MODELS, "config": CONFIG, "proc_texts": PROC, "http": HTTP,
                          "control": CONTROL}.items():
        for name, data in texts.items():
            write(target, name, data)
    for target, some in {"records": records(), "announced": announced(), "tool_page": tool_pages(),
                         "script": scripts()}.items():
        for name, data in some:
            write(target, name, data)
    for target, name, data in found(files, recordings, (SEEDS / "tool_pipe" / "job.0").read_bytes()):
        write(target, f"found.{name}", data)
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
