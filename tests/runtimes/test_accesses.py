# SPDX-License-Identifier: BSD-2-Clause
"""Whose memory is accessed: the report's communication against the jobs' own counts."""
import gaspbpf
import truth

PES, ROUNDS = 3, 10


def test_accesses_by_whose_memory_it_is(job, observe):
    pes = job(["oshrun", "-n", str(PES), gaspbpf.WORKLOADS / "accesses", "--rounds", str(ROUNDS)], ranks=PES,
              env=truth.ENVIRONMENT).wait_ready()
    told = truth.window(pes, observe)["communication"]
    truths = {of["rank"]: of for of in pes.truths()}
    for kind in "put", "got", "atomic":
        seen = {(pair["from"], pair["to"]): [pair[kind]["operations"], pair[kind]["bytes"]]
                for pair in told["pairs"] if kind in pair}
        assert seen == {(pe, int(whose)): counts for pe, of in truths.items() for whose, counts in of[kind].items()}
    for row in told["ranks"]:
        counts = [(whose == str(row["rank"]), *figures) for kind in ("put", "got", "atomic")
                  for whose, figures in truths[row["rank"]][kind].items()]
        for key, own in ("own_part", True), ("others_parts", False):
            assert row[key]["operations"] == sum(number for is_own, number, _ in counts if is_own == own)
            assert row[key]["bytes"] == sum(size for is_own, _, size in counts if is_own == own)
    assert told["job_ranks"] == PES
