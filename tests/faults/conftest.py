# SPDX-License-Identifier: BSD-2-Clause
import pytest

import faults


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    job = faults.Target(tmp_path_factory.mktemp("target"))
    yield job
    job.kill()


@pytest.fixture(scope="module")
def maker(tmp_path_factory):
    return faults.Faults(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def scenarios(target, tmp_path_factory):
    return faults.scenarios(target, tmp_path_factory.mktemp("scenarios"))
