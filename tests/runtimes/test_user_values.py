# SPDX-License-Identifier: BSD-2-Clause
"""Values of user events: each kind of conversion, floating point numbers among them, as the program has passed them."""
import json
import math
import re
import subprocess

import pytest

import gaspbpf

LIBRARY = gaspbpf.TOP / "build" / "libpupc"
SHARED = [f"-L{LIBRARY}", "-lpupc", f"-Wl,-rpath,{LIBRARY}"]
STATIC = [str(LIBRARY / "libpupc.a")]

PROGRAM = r"""
#include <pupc.h>
#include <math.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    unsigned reals = pupc_create_event("reals", "a=%g i=%d b=%e text=%s c=%f d=%G e=%f");
    unsigned stack = pupc_create_event("stack", "%d %d %d %d %d a=%d b=%d c=%d d=%d e=%d f=%d");
    unsigned widths = pupc_create_event("widths", "h=%hd hh=%hhu ld=%ld u=%u x=%llx");
    unsigned wide = pupc_create_event("wide", "star=%*d after=%d 100%% last=%.*f");
    unsigned both = pupc_create_event("both", "r=%f n=%ld");
    unsigned huge = pupc_create_event("huge", "before=%d q=%Lf %d %d %d %d after=%d");
    FILE *truth = fopen(argv[1], "w");
    double odd[] = { 0.1, -1e300, 5e-324, 1.0 / 3, INFINITY, -0.0 };

    puts("ready"); fflush(stdout); getchar();
    for (int i = 0; i < 6; i++) {
        double a = odd[i], b = i + 0.25, c = -b, d = 1e9 * i;

        pupc_event_start(reals, a, i, b, "text", c, d, 0.5);
        pupc_event_end(reals, c, i + 1, a, "other", b, d, 0.5);
        fprintf(truth, "%.17g %.17g %.17g %.17g\n%.17g %.17g %.17g %.17g\n", a, b, c, d, c, a, b, d);
        pupc_event_atomic(stack, 1, 2, 3, 4, 5, i, i + 1, i + 2, i + 3, i + 4, i + 5);
        pupc_event_atomic(widths, -300 - i, 200 + i, -10000000000L - i, 4000000000u + i, 0xabcdef0123456789ull + i);
        pupc_event_atomic(wide, 7, 100 + i, 200 + i, 3, b);
        pupc_event_atomic(huge, i, 1.5L, 3, 4, 5, 6, i + 50); /* the last one is on the stack, behind the long double */
        /* The same event twice in a row, with and without a value. */
        pupc_event_start(both, b, (long)i);
        pupc_event_start(both);
        pupc_event_end(stack, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11); /* it was not started, and ends nothing else */
        pupc_event_end(both);
        pupc_event_end(both, c, -(long)i);
    }
    puts("done"); fflush(stdout); getchar();
    return fclose(truth) != 0;
}
"""


def fields(line):
    return dict(re.findall(r" (\w+)=(\S*)", line.split(" @ ")[0]))


def same(text, number):
    return text == number or float(text) == float(number) \
        and math.copysign(1, float(text)) == math.copysign(1, float(number))


@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("library", [SHARED, STATIC], ids=["shared", "static"])
def test_every_value_as_it_was_passed(observe, tmp_path, library):
    (tmp_path / "values.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", f"-I{gaspbpf.TOP / 'include'}", tmp_path / "values.c", *library, "-o",
                    tmp_path / "values"], check=True,
                   timeout=gaspbpf.PATIENCE)
    text, trace = tmp_path / "run.events", tmp_path / "run.json"
    with subprocess.Popen([tmp_path / "values", tmp_path / "truth"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as job:
        try:
            assert job.stdout.readline() == "ready\n"
            watcher = observe("-p", job.pid, "-m", "pupc", "--json", "-o", text, "-o", trace)
            job.stdin.write("\n")
            job.stdin.flush()
            assert job.stdout.readline() == "done\n"
            job.stdin.write("\n")
            job.stdin.flush()
            status, out, errors = watcher.finish()
            assert status == 0, errors
        finally:
            job.kill()
    assert "stack of process" in errors and "ended 6 times without having started" in errors
    calls = {name: row["calls"] for name, row in gaspbpf.events(json.loads(out)).items()}
    assert calls == {"reals": 6, "stack": 6, "widths": 6, "wide": 6, "huge": 6, "both": 12}
    lines = text.read_text().splitlines()
    told = {name: [fields(line) for line in lines if f" {name} " in line.split(" @ ")[0] + " "] for name in calls}
    truth = [line.split() for line in (tmp_path / "truth").read_text().splitlines()]
    assert len(told["reals"]) == len(truth) == 12
    for at, (v, numbers) in enumerate(zip(told["reals"], truth)):
        assert all(same(v[name], number) for name, number in zip("abcd", numbers)), (v, numbers)
        # The fifth is in a register that is not stored.
        assert (v["i"], v["text"], v["e"]) == (str(at // 2 + at % 2), "other" if at % 2 else "text", "unknown")
    for i in range(6):
        assert told["stack"][i] == {**{f"arg{k}": str(k) for k in range(1, 6)},
                                    **{name: str(i + k) for k, name in enumerate("abcdef")}}
        assert told["widths"][i] == {"h": str(-300 - i), "hh": str(200 + i), "ld": str(-10000000000 - i),
                                     "u": str(4000000000 + i), "x": str(0xabcdef0123456789 + i)}
        # A '*' is no value of its own, and what follows is not shifted by it.
        assert told["wide"][i] == {"star": str(100 + i), "after": str(200 + i), "last": f"{i + 0.25:g}"}
        assert told["huge"][i] == {"before": str(i), "q": "unknown", **{f"arg{k}": str(k) for k in range(3, 7)},
                                   "after": str(i + 50)}
        first, _, _, last = told["both"][4 * i:4 * i + 4]
        assert same(first["r"], i + 0.25) and first["n"] == str(i) and same(last["r"], -i - 0.25) \
            and last["n"] == str(-i)
    drawn = [event["args"] for event in json.loads(trace.read_text())["traceEvents"] if event.get("name") == "reals"]
    assert [args["a"] for args in drawn] == [0.1, -1e300, 5e-324, 1 / 3, "inf", 0.0] \
        and all(args["i"] == i for i, args in enumerate(drawn))


NAMES = r"""
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) void named(const char *label) { __asm__ volatile("" :: "r"(label)); }
int main(void)
{
    const char *names[] = { "plain name", "bad\x01name", "uml\xc3\xa4ut", "", "tab\tbed", "literal", "\x7f" };
    char *copies[7];

    puts("ready"); fflush(stdout); getchar();
    for (int i = 0; i < 7; i++)
        named(copies[i] = strdup(names[i]));
    named((const char *)16);
    puts("done"); fflush(stdout); getchar();
    for (int i = 0; i < 7; i++)
        printf("%lu\n", (unsigned long)copies[i]);
    return 0;
}
"""


def test_names_that_are_none_are_addresses(tmp_path, observe):
    """What was freed and written over, or never was text, has control characters in it: that is not shown as a name."""
    (tmp_path / "names.c").write_text(NAMES)
    gaspbpf.compile_c(tmp_path / "names.c", tmp_path / "names", "-g")
    with subprocess.Popen([tmp_path / "names"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            watcher = observe("-p", program.pid, "-m", "user", "-e", "void named(const char *label @name(str))", "-o",
                              tmp_path / "run.events")
            program.stdin.write("\n"), program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            status, _, errors = watcher.stop()
            assert status == 0, errors
            addresses = program.communicate("\n")[0].split()
        finally:
            program.kill()
    seen = re.findall(r" START GASP_USER_NAMED label=(\S*) ", (tmp_path / "run.events").read_text())
    expected = ["plain\\x20name", addresses[1], "uml\\xc3\\xa4ut", addresses[3], addresses[4], "literal",
                addresses[6], "16"]
    assert seen == expected
