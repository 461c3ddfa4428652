# SPDX-License-Identifier: BSD-2-Clause
"""The page of findings against jobs (scripts/matrix) has each kind of finding, and each job, that there is."""
import re

import pytest

import matrix
import matrix_cases

pytestmark = pytest.mark.files


def test_the_page_has_all_findings_and_all_jobs():
    rows, cases = matrix.read_page_jobs(), matrix_cases.all_cases()
    assert matrix_cases.kinds() <= rows, "run scripts/matrix --page"
    assert {case.name for case in cases} <= rows, "run sudo scripts/matrix"


def test_each_kind_of_finding_is_wanted_of_some_job():
    """Or of another test, which stands in ELSEWHERE."""
    wanted = set()
    for case in matrix_cases.all_cases():
        for group in case.wanted:
            wanted |= set(group) if isinstance(group, tuple) else {group}
    assert matrix_cases.kinds() <= wanted | set(matrix_cases.FACTS) | set(matrix_cases.ELSEWHERE)
    assert all((matrix.gaspbpf.TOP / place).exists() for place in matrix_cases.ELSEWHERE.values())


def test_of_each_kind_it_is_told_how_it_is_known():
    source = (matrix.gaspbpf.TOP / "user" / "analysis" / "findings_evidence.c").read_text()
    table = source[source.index("bases[] = {"):source.index("};", source.index("bases[] = {"))]
    assert set(re.findall(r'\.kind = "(\w+)"', table)) == matrix_cases.kinds()
