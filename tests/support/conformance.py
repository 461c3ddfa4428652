# SPDX-License-Identifier: BSD-2-Clause
"""Which test has seen which event on which runtime: tests/seen/MODEL.list, which scripts/conformance shows.

A test says so right after it has asserted an event against a truth that gaspbpf did not make:

    conformance.seen("openmpi-4.1.4", "GASP_MPI_SEND", "GASP_MPI_RECV")

The lists are written by running the tests with GASPBPF_SEEN=update. Otherwise a test fails that has passed but did not
see what is listed for it, or that saw what is not listed; so what the table says is what the tests do.
"""
import fcntl
import os
import re

import gaspbpf

FOLDER = gaspbpf.TOP / "tests" / "seen"
UPDATE = os.environ.get("GASPBPF_SEEN") == "update"
HEAD = ("# SPDX-License-Identifier: BSD-2-Clause\n# EVENT RUNTIME TEST: written by the tests, with GASPBPF_SEEN=update "
        "(tests/support/conformance.py).\n")

running = None  # the test that runs now
rows = set()    # (event, runtime) that it has seen


def languages():
    """The models by the names of their events: {"GASP_C_": "c", ...}."""
    found = {}
    for path in (gaspbpf.TOP / "models").glob("*.model"):
        words = dict(re.findall(r"^(model|language)\s+(\S+)", path.read_text(), re.M))
        language = words.get("language", words["model"].upper().replace("-", "_"))
        # others are more runtimes of the language
        if words["model"] == language.lower() or f"GASP_{language}_" not in found:
            found[f"GASP_{language}_"] = words["model"]
    return found


def model_of(event):
    """The list that an event stands in: its model's, or that of what stands before the first '.' or '_' of another
    name."""
    known = languages()
    prefixes = [prefix for prefix in known if event.startswith(prefix)]
    return known[max(prefixes, key=len)] if prefixes else re.split(r"[._]", event)[0].lower()


def seen(runtime, *events):
    """The test that runs now has seen these events on this runtime, and compared them with a truth."""
    assert running, "conformance.seen() belongs into a test"
    for name in (runtime, *events):
        assert re.fullmatch(r"[\w.+:-]+", name), f"{name!r} is no name of an event or runtime"
    rows.update((event, runtime) for event in events)


def name_of(item):
    """test_x.py::test_y[mpich], without its room; the rung of the attach ladder does not count."""
    name = item.nodeid.split("::")[0].split("/")[-1] + "::" + (getattr(item, "originalname", None) or item.name)
    call = getattr(item, "callspec", None)
    ids = list(call._idlist) if call else []
    if call and "rung" in call.params and call.params["rung"] in ids:
        ids.remove(call.params["rung"])
    return (name + (f"[{'-'.join(ids)}]" if ids else "")).replace(" ", "_")


def read(path):
    """The rows of one list: {(event, runtime, test)}."""
    if not path.exists():
        return set()
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {tuple(line) for line in lines if len(line) == 3}


def listed():
    """All rows of all lists."""
    return {row for path in FOLDER.glob("*.list") if path.name != "none.list" for row in read(path)}


def exists(test):
    """Is there such a test? Its parameters are not looked at."""
    file, name = re.fullmatch(r"([^:]+)::(\w+)(?:\[.*\])?", test).groups()
    return any(re.search(rf"^def {name}\(", source.read_text(), re.M)
               for source in (gaspbpf.TOP / "tests").glob(f"*/{file}"))


def update(test):
    """Puts what this test has seen into the lists, in place of what it had seen before; tests that are no more leave
    them."""
    FOLDER.mkdir(exist_ok=True)
    new = {(event, runtime, test) for event, runtime in rows}
    with open(gaspbpf.TOP / "build" / "seen.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        paths = {path for path in FOLDER.glob("*.list") if path.name != "none.list"}
        paths |= {FOLDER / f"{model_of(event)}.list" for event, _, _ in new}
        for path in paths:
            old = read(path)
            mine = {row for row in new if f"{model_of(row[0])}.list" == path.name}
            kept = {name for name in {row[2] for row in old} if name != test and exists(name)}
            now = {row for row in old if row[2] in kept} | mine
            if now != old:
                path.write_text(HEAD + "".join(" ".join(row) + "\n" for row in sorted(now)))


def begin(item):
    global running
    running = name_of(item)
    rows.clear()


def end(passed):
    """What is wrong with what the test has seen; None where nothing is."""
    global running
    test, running = running, None
    if not passed:
        return None
    if UPDATE:
        update(test)
        return None
    expected = {(event, runtime) for event, runtime, name in listed() if name == test}
    missing, more = expected - rows, rows - expected
    if not missing and not more:
        return None
    return (f"{test}: tests/seen/ lists events that it has not seen: {sorted(missing)}; and it has seen events that "
            f"are not listed: {sorted(more)}; where that is right, run it with GASPBPF_SEEN=update and "
            "commit the lists")
