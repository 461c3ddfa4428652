# SPDX-License-Identifier: BSD-2-Clause
"""Tool libraries under test: building them, and reading what they wrote down."""
import collections
import json
import subprocess

import gaspbpf

FOLDER = gaspbpf.TOP / "tests" / "tools"
EXAMPLES = gaspbpf.TOP / "examples" / "tools"

Call = collections.namedtuple("Call", "time thread type tag place on_own arguments")


def build(folder, source, *options, name=None):
    """A shared library out of tests/tools or examples/tools."""
    path = FOLDER / source if (FOLDER / source).exists() else EXAMPLES / source
    library = folder / (name or path.stem + ".so")
    compiler = "c++" if path.suffix == ".cc" else "cc"
    subprocess.run([compiler, "-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-shared", "-fPIC",
                    f"-I{gaspbpf.TOP / 'include'}",
                    *options, "-o", str(library), str(path)], check=True, timeout=gaspbpf.PATIENCE)
    return library


def letter(argument):
    """How tests/tools/gasp_log.c fetches it."""
    if argument["type"] in ("gasp_upc_PTS_t *", "gasp_upc_lock_t *"):
        return "*"
    if argument["type"] in ("const char *", "char *"):
        return "s"
    if argument["type"].endswith("*"):
        return "p"
    if argument["type"] == "size_t":
        return "z"
    return "l" if "64" in argument["type"] or "long" in argument["type"] else "i"


def vocabulary(*models):
    out = gaspbpf.run("events", "--json", *models)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)["events"]


def types_file(path, *models):
    """TOOL_TYPES for these models, and (tag, type) -> names of the arguments."""
    names = {}
    with open(path, "w") as out:
        for event in vocabulary(*models):
            for type_, word in enumerate(("start", "end", "atomic")):
                arguments = event.get(word)
                if arguments:
                    out.write(f"{event['number']} {type_} {''.join(map(letter, arguments))}\n")
                    names[event["number"], word.upper()] = [a["name"] for a in arguments]
    return names


class Log:
    """What tests/tools/gasp_log.c wrote."""

    def __init__(self, path):
        self.lines = path.read_text().splitlines()
        self.calls, self.other = [], []
        for line in self.lines:
            words = line.split(" ")
            if len(words) > 4 and words[2] in ("START", "END", "ATOMIC"):
                self.calls.append(Call(int(words[0]), int(words[1]), words[2], int(words[3]), words[4],
                                       words[5] == "own", words[6:]))
            else:
                self.other.append(line)

    def threads(self):
        """Calls by thread, in order."""
        threads = {}
        for call in self.calls:
            threads.setdefault(call.thread, []).append(call)
        return threads

    def counts(self):
        """Finished calls by tag."""
        return collections.Counter(call.tag for call in self.calls if call.type != "START")

    def outermost(self):
        """The same of calls that are in no other one."""
        counts = collections.Counter()
        for calls in self.threads().values():
            depth = 0
            for call in calls:
                depth += (call.type == "START") - (call.type == "END")
                counts[call.tag] += depth == 0
        return counts

    def check_nesting(self):
        """On each thread STARTs and ENDs nest, and time does not go back."""
        for calls in self.threads().values():
            stack = []
            for before, call in zip([None, *calls], calls):
                assert before is None or before.time <= call.time
                if call.type == "START":
                    stack.append(call)
                elif call.type == "END":
                    start = stack.pop()
                    assert (start.tag, start.place) == (call.tag, call.place)
            assert not stack
