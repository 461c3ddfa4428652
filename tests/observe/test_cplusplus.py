# SPDX-License-Identifier: BSD-2-Clause
"""C++ functions are asked for, and shown, as people write them. What a symbol means c++filt says; the jobs count their
calls themselves."""
import json
import subprocess
import textwrap

import pytest

import gaspbpf
from selecting import observed, start  # noqa: F401 (a fixture)

SHAPES = textwrap.dedent("""
    #include <cstdio>
    #include <functional>
    #include <vector>
    #define KEPT __attribute__((noipa, noinline))
    static volatile long sum;
    namespace shapes {
    struct circle { double radius; };
    template <typename T> struct grid {
        std::vector<T> points;
        KEPT void step(int n) { sum += n; }
        KEPT void step(double d) { sum += d; }
        KEPT grid &operator+=(const grid &) { sum++; return *this; }
        KEPT explicit operator bool() const { return sum++; }
    };
    template <typename T, int N> KEPT T scaled(T value) { sum += N; return value; }
    inline namespace v2 { KEPT void relax(const std::function<int(int)> *) { sum++; } }
    namespace { KEPT void hidden(circle *) { sum++; } }
    KEPT void plain() { sum++; }
    }
    extern "C" KEPT void relax_c(void) { sum++; }
    int main()
    {
        shapes::grid<double> g;
        shapes::circle c{1};
        auto turn = [&](int n) KEPT { sum += n; };

        puts("ready");
        fflush(stdout);
        getchar();
        for (int i = 0; i < 60; i++) {
            g.step(i);
            if (i % 2) g.step(1.5);
            if (i % 3 == 0) g += g;
            if (i % 4 == 0 && g) sum++;
            if (i % 5 == 0) shapes::scaled<shapes::circle, 7>(c);
            if (i % 6 == 0) shapes::relax(nullptr);
            if (i % 10 == 0) shapes::hidden(&c);
            if (i % 12 == 0) turn(i);
            if (i % 15 == 0) shapes::plain();
            if (i % 20 == 0) relax_c();
        }
        puts("done");
        fflush(stdout);
        getchar();
        return 0;
    }
    """)

CALLS = {
    "shapes::grid<double>::step(int)": 60,
    "shapes::grid<double>::step(double)": 30,
    "shapes::grid<double>::operator+=(shapes::grid<double> const&)": 20,
    "shapes::grid<double>::operator bool() const": 15,
    "shapes::scaled<shapes::circle, 7>(shapes::circle)": 12,
    "shapes::v2::relax(std::function<int (int)> const*)": 10,
    "shapes::(anonymous namespace)::hidden(shapes::circle*)": 6,
    "main::{lambda(int)#1}::operator()(int) const": 5,
    "shapes::plain()": 4,
    "relax_c": 3,
}


@pytest.fixture(scope="module", params=["-g", "-g0"])
def shapes(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "shapes.cc").write_text(SHAPES)
    subprocess.run(["g++", "-O1", request.param, "-o", folder / "shapes", folder / "shapes.cc"], check=True,
                   timeout=gaspbpf.PATIENCE)
    return folder / "shapes"


def filtered(symbols):
    """Each as c++filt writes it."""
    symbols = list(symbols)
    out = subprocess.run(["c++filt", "--no-verbose"], input="\n".join(symbols), stdout=subprocess.PIPE, text=True,
                         check=True, timeout=gaspbpf.PATIENCE).stdout
    return dict(zip(symbols, out.splitlines()))


def is_same(name, told):
    """c++filt says, too, what a template returns."""
    return told == name or told.endswith(f" {name}")


def listed(file, *patterns):
    options = [word for pattern in patterns for word in ("-F", pattern)]
    found = json.loads(gaspbpf.run("list", "--json", file, *options).stdout)["found"]
    return {row["symbol"]: row.get("name", row["symbol"]) for row in found if row["model"] == "functions"}


def test_names_are_those_of_the_source(shapes, start, observe, tmp_path):
    trace = tmp_path / "run.json"
    report, errors, _ = observed(start(shapes), observe, "-F", "shapes::*", "-F", "main::*", "-F", "relax_c", "-o",
                                 trace)
    rows = [row for row in report["events"] if row["name"] == "GASP_C_FUNC"]
    told = filtered(row["function"] for row in rows)
    assert all(is_same(row.get("function_name", row["function"]), told[row["function"]]) for row in rows)
    assert {row.get("function_name", row["function"]): row["calls"] for row in rows
            if row.get("function_name", row["function"]) in CALLS} == CALLS
    events = json.loads(trace.read_text())["traceEvents"]
    for name, calls in CALLS.items():
        assert sum(event["name"] == f"GASP_C_FUNC {name}" for event in events) == calls


def test_the_report_for_people(shapes, start, observe):
    """No symbol is left in it, and no line is longer than its terminal."""
    target = start(shapes)
    watcher = observe("-p", target.pid, "-F", "shapes::*")
    target.stdin.write("\n")
    target.stdin.flush()
    assert target.stdout.readline().startswith("done")
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert "GASP_C_FUNC shapes::grid<double>::step(int)" in out
    assert "_Z" not in out


@pytest.mark.parametrize("pattern, calls", [
    ("shapes::grid<double>::step", {60, 30}),  # without arguments: whatever they are
    ("shapes::grid<double>::step(int)", {60}),
    ("*::step(double)", {30}),
    ("*operator*", {20, 15, 5}),
    ("*relax*", {10, 3}),
    ("_ZN6shapes5plainEv", {4}),
    ("shapes::scaled*", {12}),
    ("*hidden*", {6}),
])
def test_patterns_find_what_a_user_types(shapes, pattern, calls):
    names = set(listed(shapes, pattern).values())
    assert {CALLS[name] for name in names & set(CALLS)} == calls
    assert names <= set(CALLS) or "operator" in pattern  # of functions that libstdc++ has put there, too


def test_what_is_excluded(shapes, tmp_path):
    (tmp_path / "not").write_text("shapes::grid<double>::step\n*operator*\n")
    found = json.loads(gaspbpf.run("list", "--json", shapes, "-F", "shapes::*", "--exclude-functions",
                                   tmp_path / "not").stdout)["found"]
    names = {row["name"] for row in found if row["model"] == "functions"}
    assert {"shapes::plain()", "shapes::v2::relax(std::function<int (int)> const*)"} <= names
    assert not any("step" in name or "operator" in name for name in names)


def test_the_list_for_people(shapes):
    out = gaspbpf.run("list", shapes, "-F", "shapes::plain").stdout
    row, = (line for line in out.splitlines() if "shapes::plain()" in line)
    assert row.split()[:3] == ["GASP_C_FUNC", "shapes::plain()", shapes.name] and "_ZN" not in out
    out = gaspbpf.run("list", "-v", shapes, "-F", "shapes::plain").stdout
    row, = (line for line in out.splitlines() if "shapes::plain()" in line)
    assert "symbol: _ZN6shapes5plainEv" in row


def test_a_library_of_many_names():
    """Each function of libstdc++ has the name that c++filt gives it, or, where that takes too long, none."""
    library = subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], stdout=subprocess.PIPE, text=True, check=True,
                             timeout=gaspbpf.PATIENCE).stdout.strip()
    names = listed(library, "libstdc++.so.6:std::*")
    told = filtered(names)
    different = {symbol: name for symbol, name in names.items() if not is_same(name, told[symbol])}
    assert len(names) > 1000
    assert not different
