#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nasty processes: programs composed by chance of all that return probes, breakpoints and bookkeeping have ever
stumbled over.

    tests/support/nasty.py [--seeds N] [--from SEED] [--modes start,late,...] [-k SHAPE]

For each seed a program is written of the acts in tests/workloads/nasty/acts_*.c, put into each other: threads, signal
stacks, handlers, timers, fibers, exceptions, cancellation, plug-ins, fork, exec and vfork around observed calls. The
same seed is the same program. It runs bare, twice (what differs then is the generator's mistake), and observed; what it
prints and how it ends must be the same, and where it was observed from its first call, its own counts of calls those of
gaspbpf.

What is observed is a library of the test's own and a private copy of libc: no other process has them.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
PARTS = TOP / "tests" / "workloads" / "nasty"
ACTS = ["calls", "unwound", "stacks", "processes"]  # in this order: what a seed stands for depends on it
SWITCH = TOP / "tests" / "workloads" / "harm" / "switch.S"
PROGRAM = TOP / "gaspbpf"
PATIENCE = 60  # seconds; a program takes a fraction of one
MODES = ("start", "gate", "late", "file", "beside")
EXACT = ("start", "gate")  # observed from its first call
AT_LEAST = ("MALLOC", "FREE", "MUTEX_LOCK")  # others call these, too
BLIND = re.compile("came late|before it could be looked at")  # calls were missed, and it is told
LIBC_MODELS = "+c,+pthread"

# What killed programs once, by what is in the program.
SHAPES = {
    "signal stack above": r"altstack\([^)]*above=1",
    "switch in a library": r"own_fibers\([^)]*by=(LINKED|LOADED)",
    "switch from a timer": r"preempted",
    "handler of a C library": r"throws_past_c",
    "cancelled by dlsym": r"(cancelled|destroyed)\([^)]*by=DLSYM",
    "cancelled by a late plug-in": r"(cancelled|destroyed)\([^)]*by=PLUGIN",
    "exception out of a handler": r"throws_from_handler",
    "seccomp filter that comes later": r"filtered",
}

PRELUDES = {
    "DIRECT_CANCEL": "static int (*cancel_by_DIRECT(void))(pthread_t) { return pthread_cancel; }",
    "DLSYM_CANCEL": "#include <dlfcn.h>\nstatic int (*cancel_by_DLSYM(void))(pthread_t)\n"
                    "{ return (int (*)(pthread_t))dlsym(RTLD_DEFAULT, \"pthread_cancel\"); }",
    "PLUGIN_CANCEL": "#include <dlfcn.h>\nstatic int (*cancel_by_PLUGIN(void))(pthread_t)\n"
                     "{ return (int (*)(pthread_t))dlsym(dlopen(PLUGIN, RTLD_NOW), \"plugin_cancel\"); }",
    "OWN_SWITCH": "EXTERN void own_switch(void **, void *);\n"
                  "static void (*switch_by_OWN(void))(void **, void *) { return own_switch; }",
    "LINKED_SWITCH": "EXTERN void linked_switch(void **, void *);\n"
                     "static void (*switch_by_LINKED(void))(void **, void *) { return linked_switch; }",
    "LOADED_SWITCH": "#include <dlfcn.h>\nstatic void (*switch_by_LOADED(void))(void **, void *)\n"
                     "{ return (void (*)(void **, void *))dlsym(dlopen(\"libswitch.so\", RTLD_NOW), "
    "\"loaded_switch\"); }",
    "@ODDLIB@": "EXTERN void odd_set_handler(void (*)(void));",
}


@dataclasses.dataclass
class Act:
    """One kind of act, as acts_*.c have it."""
    name: str
    text: str
    lang: str = "c"
    libc: bool = False
    weight: float = 1
    not_in: frozenset = frozenset()
    adds: frozenset = frozenset()

    @property
    def has_body(self):
        return "@BODY@" in self.text


def read_acts():
    acts = []
    for part in (part for name in ACTS
                 for part in re.split(r"^//@ ", (PARTS / f"acts_{name}.c").read_text(), flags=re.MULTILINE)[1:]):
        head, _, text = part.partition("\n")
        name, *words = head.split()
        keys = dict(word.split("=") for word in words)
        acts.append(Act(name, text, keys.get("lang", "c"), "libc" in keys, float(keys.get("weight", 1)),
                        frozenset(filter(None, keys.get("not", "").split(","))),
                        frozenset(filter(None, keys.get("adds", "").split(",")))))
    return acts


class Program:
    """What a seed stands for: source text, how it is built, and a recipe in words."""

    def __init__(self, seed):
        self.seed = seed
        self.chance = random.Random(f"nasty {seed}")
        self.lang = self.chance.choice(["c", "c++"])
        self.libc = self.chance.random() < 0.6
        self.acts = [act for act in read_acts() if act.lang in ("c", self.lang) and (self.libc or not act.libc)]
        self.left = self.chance.randint(2, 12)  # acts still to be placed
        self.functions, self.preludes, self.count = [], {}, 0
        calls, names = [], []
        while self.left > 0 or not calls:
            call, name = self.place(frozenset(), 0)
            calls.append(call)
            names.append(name)
        self.recipe = " ".join(names)
        self.compiler = self.chance.choice(["gcc", "gcc", "clang"])
        self.flags = [self.chance.choice(["-O0", "-O1", "-O2", "-O2", "-O3"]),
                      *self.chance.choice([[], [], ["-fno-plt"], ["-fno-omit-frame-pointer"],
["-Wl,-z,now"], ["-rdynamic"], ["-no-pie"]])]
        self.body = "\n".join(calls)

    def place(self, context, depth):
        """Writes one act, and those in it: how it is called, and its name."""
        fitting = [act for act in self.acts if not act.not_in & context and (depth < 4 or not act.has_body)]
        act = self.chance.choices(fitting, [each.weight for each in fitting])[0]
        self.left -= 1
        body, inner = [], []
        if act.has_body:
            for _ in range(self.chance.choice([1, 1, 2, 3])):
                call, name = self.place(context | act.adds, depth + 1)
                body.append(call)
                inner.append(name)
        self.count += 1
        number, chosen = self.count, {}

        def choose(match):
            name, _, what = match[1].partition(":")
            if name not in chosen:
                low, dash, high = what.partition("-")
                chosen[name] = str(self.chance.randint(int(low), int(high))) if dash and low.isdigit() \
                    and high.isdigit() else \
                    self.chance.choice(what.split("|"))
            return chosen[name]

        text = re.sub(r"@\{([^}]*)\}@", choose, act.text.replace("@BODY@", " ".join(body)))
        for word, prelude in PRELUDES.items():
            if re.search(rf"^{word}$", text, re.MULTILINE):
                self.preludes[word] = prelude
                text = re.sub(rf"^{word}$", "", text, flags=re.MULTILINE)
        text = text.replace("@ID@", str(number)).replace("@SIG@", f"(SIGRTMIN + {number % 25 + 1})")
        self.functions.append(text)
        told = ",".join(f"{name}={value}" for name, value in chosen.items())
        return f"act_{number}();", act.name + (f"({told})" if told
                                               else "") + (f"{{{' '.join(inner)}}}" if inner else "")

    def source(self):
        return "\n".join([
            f"/* Nasty process {self.seed}: {self.recipe} */", '#include "base.h"',
            '#ifdef __cplusplus\n#define EXTERN extern "C"\n#define PLUGIN "libplugin_cc.so"\n'
            '#else\n#define EXTERN extern\n#define PLUGIN "libplugin_c.so"\n#endif',
            *self.preludes.values(), *self.functions, "static void round_of_acts(void)\n{", self.body, "}",
            "int main(int argc, char **argv)\n{\n\tlong rounds = 0, first = 0, others = 0;\n\n\tbegin(argc, argv);\n"
            "\tmore_rounds(round_of_acts, &rounds, &first, &others);\n\treturn finish(rounds, first, others);\n}\n"])

    def shapes(self):
        return [shape for shape, what in SHAPES.items() if re.search(what, self.recipe)]


# --- building ---------------------------------------------------------------

def build(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stderr[:3000]}")


class Shop:
    """A folder with the libraries: the observed one, odd ones, and a private copy of libc."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        shared = ["-g", "-fPIC", "-shared", "-w", f"-I{PARTS}", f"-L{self.folder}"]
        libc = subprocess.run(["gcc", "-print-file-name=libc.so.6"], capture_output=True, text=True,
                              check=True).stdout.strip()
        shutil.copy(os.path.realpath(libc), self.folder / "libc.so.6")
        build("gcc", *shared, "-O2", "-Wl,-soname,libnasty.so", "-o", self.folder / "libnasty.so", PARTS / "library.c")
        build("gcc", *shared, "-O2", "-Dswitch_stack=linked_switch", "-o", self.folder / "libodd.so", PARTS / "odd.c",
              SWITCH, "-lnasty")
        build("gcc", *shared, "-Dswitch_stack=loaded_switch", "-o", self.folder / "libswitch.so", SWITCH)
        build("gcc", *shared, "-O2", "-o", self.folder / "libplugin_c.so", PARTS / "plugin.c", "-lnasty")
        build("g++", *shared, "-O2", "-o", self.folder / "libplugin_cc.so", "-x", "c++", PARTS / "plugin.c", "-x",
              "none", "-lnasty")

    def make(self, program):
        source = self.folder / f"nasty_{program.seed}.{'cc' if program.lang == 'c++' else 'c'}"
        source.write_text(program.source())
        out = source.with_suffix("")
        compiler = {"gcc": "g++", "clang": "clang++"}[program.compiler] if program.lang == "c++" else program.compiler
        own = [SWITCH] if "OWN_SWITCH" in program.preludes else []
        odd = ["-lodd"] if {"LINKED_SWITCH", "@ODDLIB@"} & program.preludes.keys() else []
        build(compiler, "-g", "-w", "-pthread", "-Dswitch_stack=own_switch", *program.flags, f"-I{PARTS}", "-o", out,
              source, *own, f"-L{self.folder}", *odd, "-lnasty", f"-Wl,-rpath,{self.folder}", "-Wl,--disable-new-dtags")
        return out


# --- running ------------------------------------------------------------------

@dataclasses.dataclass
class Ran:
    """How a program ended, and what it said."""
    status: object
    lines: list
    counts: dict
    told: str = ""  # by gaspbpf

    @property
    def seen(self):
        return self.status, self.lines


def read_output(status, text, told=""):
    lines = [line for line in text.splitlines() if line]
    counts = {line.split()[1]: int(line.split()[2]) for line in lines if re.fullmatch(r"count \w+ \d+", line)}
    return Ran(status, [line for line in lines if not re.match(r"(count|rounds|ready)\b", line)], counts, told)


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def finish(process, what=b""):
    """Waits for its end: its status and its output; `hangs` if it does not come to it."""
    try:
        out, errors = process.communicate(what, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        return "hangs", out.decode(errors="replace"), (errors or b"").decode(errors="replace")
    return process.returncode, out.decode(errors="replace"), (errors or b"").decode(errors="replace")


def start(command, errors=subprocess.DEVNULL):
    return subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                            start_new_session=True, preexec_fn=without_core)


def run_bare(binary):
    return read_output(*finish(start([binary]))[:2])


class Watcher:
    """gaspbpf on running processes."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.errors = ""
        end = time.monotonic() + PATIENCE
        os.set_blocking(self.process.stderr.fileno(), False)
        while "observing" not in self.errors and self.process.poll() is None and time.monotonic() < end:
            self.errors += (self.process.stderr.read() or b"").decode(errors="replace")
            time.sleep(0.02)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.set_blocking(self.process.stderr.fileno(), True)
        self.errors += self.process.stderr.read().decode(errors="replace")
        self.process.stderr.close()
        return self.errors


class Runner:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.recording = self.folder / "run.gasp"

    def options(self, program):
        return ["-m", LIBC_MODELS + ",+nasty" if program.libc else "nasty", "--model-file", PARTS / "nasty.model", "-o",
                self.recording]

    def run(self, mode, program, binary):
        self.recording.unlink(missing_ok=True)
        return getattr(self, mode)(program, binary)

    def start(self, program, binary):
        """By gaspbpf's own hand."""
        status, out, errors = finish(start([PROGRAM, "-q", *self.options(program), "--", binary], subprocess.PIPE))
        told, _, report = out.partition("Observed for ")
        return read_output(128 - status if isinstance(status, int) and status > 128 else status, told,
                           errors if report else f"no report: {errors}")

    def joined(self, program, binary, *options, arguments=("--gate",), pause=0.0):
        target = start([binary, *arguments])
        until = arguments[-1] if "--until" in arguments else None
        if until is None:
            assert target.stdout.readline() == b"ready\n"
        watcher = Watcher("-p", target.pid, *options, *self.options(program))
        time.sleep(pause)
        if until:
            pathlib.Path(until).touch()
        status, out, _ = finish(target, b"g")
        return read_output(status, out, watcher.stop())

    def gate(self, program, binary):
        """Joined before its first call."""
        return self.joined(program, binary, "--scope=process")

    def late(self, program, binary):
        """Joined and left in the middle of its rounds."""
        until = self.folder / "until"
        until.unlink(missing_ok=True)
        return self.joined(program, binary, "--scope=process", arguments=("--until", str(until)), pause=0.3)

    def file(self, program, binary):
        """Joined by a link that all processes share."""
        until = self.folder / "until"
        until.unlink(missing_ok=True)
        return self.joined(program, binary, "--scope=file", arguments=("--until", str(until)), pause=0.3)

    def beside(self, program, binary):
        """Observed by nobody, while two others that map the same library are, each in another way."""
        others = [start([binary, "--gate"]) for _ in range(2)]
        for each in others:
            assert each.stdout.readline() == b"ready\n"
        watchers = [Watcher("-p", each.pid, f"--scope={scope}", *self.options(program)[:-2])
                    for each, scope in zip(others, ("process", "file"))]
        ran = run_bare(binary)
        for each in others:
            finish(each, b"g")
        ran.told = " ".join(watcher.stop() for watcher in watchers)
        return ran


def counted(recording):
    """Calls by event, as gaspbpf has them."""
    done = subprocess.run([str(PROGRAM), "report", recording, "--json"], capture_output=True, text=True,
                          timeout=PATIENCE)
    if done.returncode:
        return {}
    # A plug-in that is gone before anybody could look at it: its calls inside of another one count as the library's
    # own.
    return {row["name"]: row["calls"] + row["inner"]["calls"] for row in json.loads(done.stdout)["events"]}


def wrong_counts(program, ran, recording):
    rows = counted(recording)
    wrong = []
    for name, calls in ran.counts.items():
        model = "NASTY" if name in ("LEAF", "PLAIN", "SPIN", "CALL", "SORT", "WAIT", "TRIGGER") else \
            "C" if name in ("MALLOC", "FREE") else "PTHREAD"
        seen = rows.get(f"GASP_{model}_{name}", 0)
        if model != "NASTY" and not program.libc:
            continue
        if seen < calls if name in AT_LEAST else seen != calls:
            wrong.append(f"{name} {seen} for {calls}")
    return wrong


def differences(runner, program, binary, modes):
    """What is not as it is alone, by mode; under `bare` what makes the seed useless."""
    bare, again = run_bare(binary), run_bare(binary)
    if bare.seen != again.seen or not bare.lines or not bare.lines[-1].startswith("sum "):
        return {"bare": f"{bare.seen} and {again.seen}"}
    found = {}
    for mode in modes:
        ran = runner.run(mode, program, binary)
        if ran.seen != bare.seen:
            found[mode] = f"{ran.seen} for {bare.seen}; {ran.told.strip()[-300:]}"
        elif mode in EXACT and not BLIND.search(ran.told) and (wrong := wrong_counts(program, ran, runner.recording)):
            found[mode] = f"counts: {', '.join(wrong)}; {ran.told.strip()[-300:]}"
    return found


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--modes", default=",".join(MODES), help="of " + ",".join(MODES))
    parser.add_argument("-k", "--shape", default="",
                        help="only programs of which the recipe has this regular expression")
    parser.add_argument("--list", action="store_true", help="tell what the seeds are, run nothing")
    parser.add_argument("--keep", help="a folder for programs, sources and libraries")
    options = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory(prefix="nasty-") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        shop = None if options.list else Shop(folder)
        for seed in range(options.first, options.first + options.seeds):
            program = Program(seed)
            if not re.search(options.shape, program.recipe):
                continue
            told = (f"seed {seed} ({program.lang}{' libc' if program.libc else ''} {program.compiler} "
                    f"{' '.join(program.flags)}): {program.recipe}")
            if options.list:
                print(told, program.shapes())
                continue
            begun = time.monotonic()
            wrong = differences(Runner(folder), program, shop.make(program),
                                [mode for mode in options.modes.split(",") if mode])
            print(f"{'DIFFERS' if wrong else 'same'} {told} [{time.monotonic() - begun:.1f} s]", flush=True)
            for mode, what in wrong.items():
                print(f"    {mode}: {what}", flush=True)
            found += bool(wrong)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
