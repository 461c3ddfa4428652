# SPDX-License-Identifier: BSD-2-Clause
"""Nasty processes (nasty.py composes them by chance) run as they do alone, and their own counts are gaspbpf's.

A few seeds here; `tests/support/nasty.py --seeds 1000` tries as many as wanted, and tells which differ and how.
"""
import re
import subprocess
import sys

import pytest

import nasty

# Each by gaspbpf's own hand, and in one other way.
SEEDS = [302, 376, 475, 945, 983, 1203, 1336, 1461, 1478]
# By what is in them, as nasty.SHAPES has it: each of these has harmed a program.
HARMFUL = {
    "signal stack above": [869, 197],
    "switch in a library": [691, 1305],
    "switch from a timer": [998, 1474],
    "handler of a C library": [1380],
    "cancelled by dlsym": [846],
    "cancelled by a late plug-in": [1450],
    "exception out of a handler": [1002],  # out of a wait: 6 throws out of a leaf, malloc's kind, which is not survived
}
JOINED = ("gate", "late", "file", "beside")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return nasty.Shop(tmp_path_factory.mktemp("nasty"))


def differences(shop, seed, *modes):
    program = nasty.Program(seed)
    return nasty.differences(nasty.Runner(shop.folder), program, shop.make(program), modes)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_nasty_process_runs_as_it_does_alone(shop, seed):
    assert differences(shop, seed, "start", JOINED[seed % len(JOINED)]) == {}


@pytest.mark.parametrize("mode", ["start", "late", "gate"])
def test_one_with_children(shop, mode):
    """Forked, they go on to be observed."""
    assert differences(shop, 116, mode) == {}


@pytest.mark.parametrize("shape, seed", [(shape, seed) for shape, seeds in HARMFUL.items() for seed in seeds])
def test_one_of_a_shape_that_has_done_harm(shop, shape, seed):
    program = nasty.Program(seed)
    assert re.search(nasty.SHAPES[shape], program.recipe), \
        "the seed stands for another program now: choose one that has the shape"
    assert differences(shop, seed, "start", "late") == {}


def test_harm_is_seen(shop, monkeypatch):
    """With return probes wherever they are dangerous, a program that throws through a call ends otherwise. Where this
    one fails, the others show nothing."""
    programs = [program for program in map(nasty.Program, range(1, 500)) if "throws(" in program.recipe
                and not program.shapes()]
    seed = min(programs, key=lambda program: len(program.recipe)).seed
    plain = nasty.Runner.options
    assert differences(shop, seed, "start") == {}
    monkeypatch.setattr(nasty.Runner, "options", lambda self, program: ["--returns=trampoline", *plain(self, program)])
    assert "start" in differences(shop, seed, "start")


def test_a_wrong_count_is_seen(shop, monkeypatch):
    """Of one call in two: that is no way to count."""
    plain = nasty.counted
    monkeypatch.setattr(nasty, "counted",
                        lambda recording: {event: calls // 2 for event, calls in plain(recording).items()})
    assert "counts" in differences(shop, SEEDS[0], "start")["start"]


def test_a_seed_is_a_program():
    """The same in every process, and another one for another seed."""
    script = "import nasty; print(hash('x')); print('\\f'.join(nasty.Program(seed).source() for seed in range(1, 60)))"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                           cwd=nasty.TOP / "tests" / "support",
                           timeout=nasty.PATIENCE).stdout.split("\n", 1) for _ in range(2)]
    assert runs[0][0] != runs[1][0], "the two do not have the same order of sets"
    assert runs[0][1] == runs[1][1]
    assert len(set(runs[0][1].split("\f"))) == 59


def test_every_act_and_every_shape_comes_up():
    recipes = [nasty.Program(seed).recipe for seed in range(1, 300)]
    for act in nasty.read_acts():
        assert any(re.search(rf"\b{act.name}\b", recipe) for recipe in recipes), act.name
    for shape, what in nasty.SHAPES.items():
        assert any(re.search(what, recipe) for recipe in recipes), shape
