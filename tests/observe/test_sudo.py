# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf job --sudo, by a user without rights, with the real sudo and rules of the test's own: docs/cluster.md has
them. The nodes are none (tests/support/nodes.py)."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import gaspbpf
import nodes
import rights

NAMES = ["sudo1", "sudo2"]
AS_NOBODY = ["setpriv", f"--reuid={rights.NOBODY}", f"--regid={rights.NOBODY}", "--clear-groups"]
# The rules are in the place of this machine's for what is started here alone.
WITH_RULES = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/sudoers && exec "$@"']


def rules_of_the_document(program):
    """For nobody and this program."""
    text = (gaspbpf.TOP / "docs" / "cluster.md").read_text()
    rules = re.findall(r"^ {7}((?:Defaults|%tuners).*)$", text, re.MULTILINE)
    assert len(rules) == 2
    return "\n".join(rules).replace("%tuners", "nobody").replace("/usr/local/bin/gaspbpf", str(program)) + "\n" + \
        'Defaults env_keep += "GASPBPF_OTHERS"\n'  # the nodes share a kernel


@pytest.fixture
def place():
    """A folder of nobody's, with gaspbpf and a place for results in it."""
    with rights.folder() as folder:
        shutil.copy(gaspbpf.PROGRAM, folder / "gaspbpf")
        shutil.copytree(gaspbpf.TOP / "models", folder / "models")
        (folder / "ssh").write_text(nodes.SSH)
        (folder / "ssh").chmod(0o755)
        (folder / "rules").write_text(rules_of_the_document(folder / "gaspbpf"))
        (folder / "rules").chmod(0o440)
        yield folder


@pytest.fixture
def jobs(job):
    return nodes.jobs_on(job, NAMES)


def start(place, *options):
    return subprocess.Popen(
        [*WITH_RULES, place / "rules", *AS_NOBODY, place / "gaspbpf", "job", "--hosts", ",".join(NAMES), "--by", "ssh",
         "-q", "--keep", "-o", place / "run.gasp", *options, "--", "--comm", nodes.THREADS, "-m", "pthread"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place,
        env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "GASPBPF_OTHERS": "ignore"})


def sent():
    """What nodes that are to send their recordings have; sudo does not let TMPDIR through."""
    return [path for path in pathlib.Path("/tmp").glob("gaspbpf-*/sudo[12].gasp") if path.stat().st_size]


def calls_of(job):
    assert job.end() == 0
    functions = job.truths()[0]["functions"].items()
    return sum(function["calls"] for name, function in functions if name.startswith("pthread_"))


@pytest.mark.parametrize("options", [[], ["--collect"]], ids=["a shared folder", "none"])
def test_a_user_whom_a_rule_allows_it(place, jobs, options):
    """All calls are there, each on its node; the recordings are the user's. ^C ends what runs as root, too."""
    observer = start(place, "--sudo", *options)
    own = [place / "run.gasp.nodes" / f"{name}.gasp" for name in NAMES]
    try:
        if options:
            gaspbpf.wait_for(lambda: len(sent()) == 2, "nodes")
        else:
            gaspbpf.wait_for(lambda: all(path.exists() and path.stat().st_size for path in own), "nodes")
        for each in jobs.values():
            each.work()
        observer.send_signal(signal.SIGINT)
        _, errors = observer.communicate(timeout=gaspbpf.PATIENCE)
    finally:
        observer.kill()
    assert observer.returncode == 0, errors
    report = json.loads(gaspbpf.run("report", "--json", place / "run.gasp").stdout)
    assert {process["node"]: process["pid"] for process in report["processes"]} == {
        name: each.process.pid for name, each in jobs.items()}
    assert report["loss"]["calls"] == sum(calls_of(each) for each in jobs.values())
    assert {path.stat().st_uid for path in [*own, place / "run.gasp"]} == {rights.NOBODY} and sent() == []


def test_where_no_rule_does(place, jobs):
    """What sudo says is said, for each node."""
    (place / "rules").chmod(0o640)
    (place / "rules").write_text("root ALL=(ALL) ALL\n")
    (place / "rules").chmod(0o440)
    observer = start(place, "--sudo")
    _, errors = observer.communicate(timeout=gaspbpf.PATIENCE)
    assert observer.returncode == 1 and not (place / "run.gasp").exists()
    for name in NAMES:
        assert f"gaspbpf: {name}: it is not in the result: sudo: a password is required" in errors, errors
