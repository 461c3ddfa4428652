"""START and END events carry the arguments that GASP's tables give each of them."""
import re

import pytest

import conformance
import gaspbpf

# Each call writes what it did on its own: the truth.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static void *volatile kept;
int main(int argc, char **argv)
{
	FILE *truth = fopen(argv[1], "w");
	static char room[65536];
	void *more;
	setvbuf(truth, room, _IOFBF, sizeof(room));
	fprintf(truth, "\n");
	for (unsigned long i = 0; i < 20; i++) {
		kept = malloc(1000 + i);
		fprintf(truth, "MALLOC nbytes=%lu|MALLOC nbytes=%lu returnptr=%p\n", 1000 + i, 1000 + i, kept);
		more = realloc(kept, 90000 + i);
		fprintf(truth, "REALLOC ptr=%p size=%lu|REALLOC ptr=%p size=%lu returnptr=%p\n", kept, 90000 + i, kept, 90000 + i, more);
		kept = more;
		free(kept);
		fprintf(truth, "FREE ptr=%p|FREE ptr=%p\n", more, more);
	}
	return fclose(truth) != 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "calls.c").write_text(PROGRAM)
    gaspbpf.compile_c(folder / "calls.c", folder / "calls", "-O0", "-Wno-use-after-free")
    return folder / "calls"


def test_malloc_realloc_free_have_the_specs_arguments(program, tmp_path, rung):
    """GASP 1.4 table 2: nbytes at START, nbytes and returnptr at END, and so on, in this order and nothing else."""
    result = gaspbpf.run("record", "-m", "c", "-o", tmp_path / "run.gasp", "-o", tmp_path / "run.events", "--", program, tmp_path / "truth")
    assert result.returncode == 0, result.stderr
    pairs = [line.split("|") for line in (tmp_path / "truth").read_text().splitlines() if line]
    assert len(pairs) == 60
    lines = (tmp_path / "run.events").read_text().splitlines()
    events = [re.sub(r" @ .*", "", line).split(" ", 3)[3] for line in lines if " GASP_C_" in line]
    for start, end in pairs:
        at = events.index(f"START GASP_C_{start}")
        assert events[at + 1] == f"END GASP_C_{end}"
    conformance.seen("glibc", "GASP_C_MALLOC", "GASP_C_REALLOC", "GASP_C_FREE")
    # The recording explains itself: no model is needed to read it.
    (tmp_path / "none").mkdir()
    again = gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "again.events", env={"GASPBPF_MODELS": tmp_path / "none"})
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.events").read_text().splitlines() == lines
