# SPDX-License-Identifier: BSD-2-Clause
"""Jobs whose transfers are one-sided, one rank late: who waits for whom, and how long, is what the job's own clock
says; in the healed twin hardly anybody waits."""
import pytest

import gaspbpf
import pathologies

PROGRAMS = gaspbpf.WORKLOADS / "pathology"
RANKS, WHO, PARTNER, US, ROUNDS = 3, 1, 2, 6000, 20


def one_sided(job, observe, folder, us):
    command = ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAMS / "one_sided_openmpi", "--who", WHO]
    return pathologies.observed(job, observe, [*command, "--us", us, "--rounds", ROUNDS], RANKS, folder)


def between(seen, rank_from, moment_from, rank_to, moment_to):
    """By the job's clock: from one moment of a rank to another's of another one, in all rounds in which it is later."""
    return sum(max(0, there - here) for here, there in zip(seen.ranks[rank_from][moment_from],
                                                           seen.ranks[rank_to][moment_to]))


def lock_waits(seen):
    """In all rounds in which the partner did not have it before the other one."""
    return sum(max(0, unlocks - locks) for locks, unlocks, had in zip(
        seen.ranks[PARTNER]["locks"], seen.ranks[WHO]["unlocks"], seen.ranks[PARTNER]["had"]) if had > unlocks)


def planted(seen):
    return [f"one_sided.c:{line}" for line in seen.ranks[WHO]["lines"]]


def is_quiet(seen, rounds, lines):
    """Each rank's part is another one, so there is no mean of the others that what a busy machine does to one of them
    could be compared with: it may be named, but not for half of what the sick twin has, where that has it."""
    return all(finding["gain_ns"] < 0.5 * rounds * US * 1000 for finding in seen.findings("delay")
               if any(line in finding["text"] for line in lines))


def test_who_is_waited_for(job, observe, tmp_path):
    seen = one_sided(job, observe, tmp_path, US)
    assert seen.report["wait_states"]["untold"] == 0
    posted = between(seen, PARTNER, "began", WHO, "posted")
    assert pathologies.near(seen.state("late_post", PARTNER, WHO), posted)
    # The partner waits from its wait on, and the culprit accesses nothing any more from before that on.
    completed = between(seen, PARTNER, "waited", WHO, "completed")
    assert pathologies.near(seen.state("late_complete", PARTNER, WHO), completed)
    assert seen.state("early_wait", PARTNER, WHO) <= 0.1 * completed + 2_000_000
    held = lock_waits(seen)
    assert pathologies.near(seen.state("wait_for_lock", PARTNER, WHO), held)
    lines = planted(seen)
    blamed = {line: cause["waiting"].get(PARTNER, 0) for line in lines for cause in seen.causes()
              if cause["rank"] == WHO and cause["does"] == "outside" and line in cause["before"]["place"]}
    for line, waited in zip(lines, (posted, completed, held)):
        assert pathologies.near(blamed[line], waited, 0.25)  # on a busy machine other work of it is late, too


def test_the_healed_twin(job, observe, tmp_path):
    seen = one_sided(job, observe, tmp_path, 0)
    for state, *moments in (("late_post", "began", "posted"), ("late_complete", "waited", "completed")):
        waited = between(seen, PARTNER, moments[0], WHO, moments[1])
        assert pathologies.near(seen.state(state, PARTNER, WHO), waited)
    assert pathologies.near(seen.state("wait_for_lock", PARTNER, WHO), lock_waits(seen))
    assert seen.findings("lock_contention") == [] and is_quiet(seen, ROUNDS, planted(seen))


@pytest.mark.parametrize("us", [US, 0])
def test_a_variable_that_is_set_late(job, observe, tmp_path, us):
    seen = pathologies.observed(job, observe, ["oshrun", "-n", 2, PROGRAMS / "notify", "--us", us], 2, tmp_path)
    waited = between(seen, 0, "came", 1, "came")
    assert pathologies.near(seen.state("late_notify", 0, 1), waited)
    if not us:
        assert is_quiet(seen, len(seen.came(0)), [f"notify.c:{seen.line(1)}"])
        return
    finding, *_ = seen.findings("delay")
    assert seen.rank_of[finding["tid"]] == 1 and f"notify.c:{seen.line(1)}" in finding["text"]
    assert abs(finding["gain_ns"] - waited) <= 0.25 * waited
