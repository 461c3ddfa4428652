# SPDX-License-Identifier: BSD-2-Clause
"""make uninstall takes away what make install has put there, and nothing else."""
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files


def make(target, destination, *variables):
    subprocess.run(["make", "-s", "-C", gaspbpf.TOP, "-o", "gaspbpf", target, f"DESTDIR={destination}", *variables],
                   check=True, capture_output=True, timeout=gaspbpf.PATIENCE)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("variables", [[], ["prefix=/usr", "pkgconfig=/usr/share/pkgconfig"]], ids=["local", "usr"])
def test_it_leaves_what_it_has_not_brought(tmp_path, variables):
    prefix = tmp_path / ("usr" if variables else "usr/local")
    others = {prefix / "bin/others", prefix / "include/gasp_others.h", prefix / "share/gaspbpf/models/own.model"}
    make("install", tmp_path, *variables)
    assert {"gaspbpf", "gaspbpf-toolhost"} <= {name.rsplit("/", 1)[1] for name in files(tmp_path)}
    for path in others:
        path.write_text("")
    make("uninstall", tmp_path, *variables)
    assert files(tmp_path) == {str(path.relative_to(tmp_path)) for path in others}
    assert not (prefix / "share/doc/gaspbpf").exists() and not (prefix / "libexec/gaspbpf").exists()


def test_without_an_installation_it_is_no_error(tmp_path):
    make("uninstall", tmp_path)
    assert not files(tmp_path)
