# SPDX-License-Identifier: BSD-2-Clause
"""SIGHUP: of every option of 'gaspbpf monitor' it is true that it changes at once, or that it is said to change at the
next start."""
import re
import signal

import pytest

import gaspbpf
import monitored

pytestmark = pytest.mark.alone  # the runtimes of all of the machine are probed

NOBODY = "no-such-program-anywhere"
AT_ONCE = {"all": None, "pid": "1", "comm": "x*", "cgroup": "/none", "user": "nobody", "slurm-job": "4711",
           "launched-from": "10.0.0.1:4711", "listen": "0", "max-series": "77", "verbose": None}
LATER = {"max-overhead": "3%", "max-processes": "99", "lazy": None, "unprivileged": None, "linger": "5m",
         "interval": "7s", "duration": "9h", "output": "/var/tmp", "json": None,
         "quiet": None, "models": "shmem", "model-file": "{models}/upc.model", "build": "upc=struct",
         "function": "void f(int)", "placement": "entry",
         "returns": "none", "functions": "solve*", "profile": None, "profile-local": None, "profile-only": "{names}",
         "profile-partial": "{names}",
         "exclude-functions": "{names}", "flight": "10s,8m", "trigger": "barrier>1s", "dumps": "3", "dump-pause": "4s"}
NEITHER = {"config", "help", "usage", "version"}
# what makes no sense alone
WITH = {"output": ["flight"], "trigger": ["flight"], "dumps": ["flight"], "dump-pause": ["flight"]}


def options_of_the_help():
    lines = gaspbpf.run("monitor", "--help").stdout.splitlines()
    return {found[1] for found in map(re.compile(r" +(?:-., )?--([a-z-]+)").match, lines)
            if found and not found[0].startswith(" " * 20)}


def test_every_option_changes_or_is_named(observe, tmp_path):
    every = AT_ONCE | LATER
    assert options_of_the_help() == every.keys() | NEITHER
    (tmp_path / "names").write_text("")
    values = {"models": gaspbpf.TOP / "models", "names": tmp_path / "names"}
    path = tmp_path / "gaspbpf.conf"

    def named_after(*names):
        """With these options in the file, which are said to change at the next start?"""
        lines = [name if every[name] is None else f"{name} {every[name]}" for name in names]
        path.write_text("\n".join([*lines, *base]).format(**values) + "\n")
        said = len(service.errors)
        service.process.send_signal(signal.SIGHUP)
        gaspbpf.wait_for(lambda: service.has_said(b"") and b": read again\n" in service.errors[said:],
                         f"the file with {names} to be read again")
        found = re.search(r"take effect at the next start: (.*)", service.errors[said:].decode())
        return set(found[1].split(", ")) if found else set()

    base = [f"comm {NOBODY}", "models upc", "models caf"]
    path.write_text("\n".join(base))
    service = observe("monitor", "-v", "--config", path, ready="monitoring")
    for name in LATER:
        assert named_after(name, *WITH.get(name, [])) == {name, *WITH.get(name, [])}, name
    assert named_after("flight", "lazy", "models") == {"flight", "lazy", "models"}
    assert named_after(*AT_ONCE.keys() - {"all", "pid"}) == set()
    assert monitored.scrape(monitored.url_of(service))["gaspbpf_series_limit"][0][1] == int(AT_ONCE["max-series"])
    assert named_after() == set()
    base[2] = "models upc"  # the second of two
    assert named_after() == {"models"}
    assert service.stop()[0] == 0
