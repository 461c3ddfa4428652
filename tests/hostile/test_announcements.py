# SPDX-License-Identifier: BSD-2-Clause
"""A program that announces events without end, of numbers that nobody created and under names that change: its own
account stays bounded, and exact."""
import json

import pytest

import gaspbpf

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#define LEFT_ALONE __attribute__((noinline)) /* and each is another function than its neighbour */
int MYTHREAD;
LEFT_ALONE unsigned pupc_create_event(const char *name, const char *desc) { __asm__ volatile("" : : "r"(name)); return 77; }
LEFT_ALONE void pupc_event_start(unsigned evttag, ...) { __asm__ volatile("nop"); }
LEFT_ALONE void pupc_event_end(unsigned evttag, ...) { __asm__ volatile("nop; nop"); }
LEFT_ALONE void pupc_event_atomic(unsigned evttag, ...) { __asm__ volatile("nop; nop; nop"); }
int main(int argc, char **argv)
{
	long numbers = atol(argv[1]), names = atol(argv[2]);
	for (long i = 0; i < numbers; i++)
		pupc_event_atomic(1000 + i);
	for (long i = 0; i < names; i++) {
		char name[64];
		snprintf(name, sizeof(name), "name number %ld, which is rather long", i);
		pupc_create_event(name, "");
		pupc_event_start(77);
		pupc_event_end(77);
	}
	return 0;
}
"""
NUMBERS, NAMES = 4096, 8  # user/capture/announced/events.c


@pytest.fixture(name="told")
def observed(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    gaspbpf.compile_c(tmp_path / "program.c", tmp_path / "program", "-O1")

    def told(numbers, names):
        """Calls by user event."""
        run = tmp_path / "run.gasp"
        result = gaspbpf.run("record", "-m", "pupc", "--ring-size", "64m", "-o", run, "--", tmp_path / "program",
                             numbers, names)
        assert result.returncode == 0, result.stderr
        report = json.loads(gaspbpf.run("report", "--json", run).stdout)
        assert report["loss"]["lost"] == 0
        return {row["name"]: row["calls"] for row in report["events"] if row["model"] == "user"}, result.stderr
    return told


def test_numbers_without_end(told):
    events, _ = told(30_000, 0)
    assert len(events) == NUMBERS + 1
    assert sum(events.values()) == 30_000
    assert events["(further user events)"] == 30_000 - NUMBERS


def test_one_number_under_names_without_end(told):
    events, _ = told(0, 3_000)
    assert sum(events.values()) == 3_000
    assert len(events) <= NAMES + 1 and max(map(len, events)) < (NAMES + 1) * 64
