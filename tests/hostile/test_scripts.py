# SPDX-License-Identifier: BSD-2-Clause
"""A program that says it is an interpreter, with structures that lead nowhere, in circles, and to gigabytes."""
import json
import subprocess
import time

import pytest

import gaspbpf
from sticking import sleeps

UNKNOWN = "0x030e00f0"

LIBRARY = """
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

uint64_t _PyRuntime[1000] = { 1 }, PyCode_Type[10] = { 1 };
const unsigned Py_Version = VERSION;
uint64_t interpreter[2000], thread[2000], code[4000], text[4000];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define AT(base, offset) (*(uint64_t *)((char *)(base) + (offset)))

/* As 3.13 tells its offsets. */
static void tell_offsets(void)
{
	static const uint16_t offsets[][2] = { { 40, 632 }, { 64, 7264 }, { 72, 7344 }, { 168, 8 }, { 184, 72 },
		{ 232, 8 }, { 240, 0 }, { 248, 56 }, { 264, 70 }, { 280, 112 }, { 296, 128 }, { 304, 136 }, { 312, 68 },
		{ 344, 200 }, { 560, 40 } };

	memcpy(_PyRuntime, "xdebugpy", 8);
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		AT(_PyRuntime, offsets[i][0]) = offsets[i][1];
}

__attribute__((noinline)) void run(const char *how)
{
	const int minor = VERSION >> 16 & 255;
	uint64_t record[16] = { 0 }, frame[16] = { 0 };

	if (minor == 13)
		tell_offsets();
	AT(_PyRuntime, minor == 13 ? 632 : 40) = (uint64_t)interpreter;
	AT(interpreter, minor == 13 ? 7344 : minor == 12 ? 72 : 16) = (uint64_t)thread;
	AT(interpreter, minor == 13 ? 7264 : 0) = (uint64_t)interpreter; /* round and round */
	AT(thread, minor == 13 ? 72 : 56) = minor == 13 ? (uint64_t)frame : (uint64_t)record;
	AT(record, minor == 11 ? 8 : 0) = (uint64_t)frame;
	AT(record, minor == 11 ? 16 : 8) = (uint64_t)record;
	AT(frame, minor == 11 ? 32 : 0) = (uint64_t)code;
	AT(frame, minor == 11 ? 48 : 8) = (uint64_t)frame;
	AT(frame, 56) = (uint64_t)code + 4000;
	code[1] = (uint64_t)PyCode_Type;
	AT(code, 112) = AT(code, 128) = AT(code, 136) = (uint64_t)text;
	memset(text, 0xf1, sizeof(text)); /* entries of the table of lines without end */
	if (!strcmp(how, "threads"))
		AT(thread, 8) = (uint64_t)thread;
	if (!strcmp(how, "mark")) {
		((uint8_t *)frame)[70] = 3;
	} else if (!strcmp(how, "text")) {
		text[2] = 1000;
		text[4] = 0x74; /* of four bytes a character, none of which is one */
	} else if (!strcmp(how, "table")) {
		text[2] = 200000;
		text[4] = 0x64;
	} else if (!strcmp(how, "length")) {
		text[2] = UINT64_MAX / 4;
		text[4] = 0x64;
	} else if (!strcmp(how, "offsets")) {
		memset(_PyRuntime, 0xff, sizeof(_PyRuntime));
		memcpy(_PyRuntime, "xdebugpy", 8);
		memset((char *)_PyRuntime + 16, 0, 8);
	} else {
		text[2] = 3;
		text[4] = 0x64;
		memcpy((char *)text + (minor == 11 ? 48 : 40), "\\033[1", 3);
	}
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	__asm__ volatile("" : : "r"(record), "r"(frame) : "memory");
}
"""

PROGRAM = """
void run(const char *how);

int main(int argc, char **argv)
{
	run(argv[1]);
	return 0;
}
"""


@pytest.mark.parametrize("version", ["0x030b02f0", "0x030c01f0", "0x030d00f0", UNKNOWN])
def test_structures_that_make_no_sense(tmp_path, version):
    """It ends, soon, says of the rest what there is to say, and shows no control character."""
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "job.c").write_text(PROGRAM)
    library = tmp_path / "libpython3.11.so.1.0"
    gaspbpf.compile_c(tmp_path / "library.c", library, "-O1", "-shared", "-fPIC", f"-DVERSION={version}")
    gaspbpf.compile_c(tmp_path / "job.c", tmp_path / "job", "-Wl,--no-as-needed", str(library))
    for how in "names", "threads", "mark", "text", "table", "length", "offsets":
        with subprocess.Popen([tmp_path / "job", how]) as process:
            try:
                start = time.monotonic()
                sleeps([process.pid])
                arguments = "stuck", "-d", 0, "-m", "pthread", "-p", process.pid
                seen = gaspbpf.run(*arguments, "--json")
                assert seen.returncode == 0, (how, seen.stderr)
                thread, = json.loads(seen.stdout)["threads"]
                script = [frame for native in thread["stack"] for frame in native["script"]]
                assert thread["call"]["model"] == "pthread" and len(script) <= 200
                if how == "names" and version != UNKNOWN:
                    assert len(script) == (200 if version.startswith("0x030b") else 0)
                    shown = gaspbpf.run(*arguments, "--stack")
                    assert "\033" not in shown.stdout and "GASP_PTHREAD" in shown.stdout
                assert time.monotonic() - start < gaspbpf.PATIENCE / 3
            finally:
                process.kill()
