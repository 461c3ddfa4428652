# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of UPC share: GASP 1.4's tables, the job's own account of its calls, and the comparison of both with
what gaspbpf saw."""
import re

import gaspbpf

# GASP 1.4, tables 3 to 10: the arguments of START and END (or ATOMIC alone), written here from the specification.
BARRIERS = ("named", "expr")
COPY, GET, PUT, SET = ("dst", "src", "n"), ("is_relaxed", "dst", "src",
                                            "n"), ("is_relaxed", "dst", "src", "n"), ("dst", "c", "n")
SPREAD = ("dst", "src", "nbytes", "upc_flags")
REDUCE = ("dst", "src", "upc_op", "nelems", "blk_size", "func", "upc_flags", "type")
NODE, NODE_SET = ("node", "dst", "src", "n"), ("node", "dst", "c", "n")
TABLES = {
    "COLLECTIVE_EXIT": (("status",), ("status",)), "NONCOLLECTIVE_EXIT": (None, None, ("status",)),
    "NOTIFY": (BARRIERS, BARRIERS), "WAIT": (BARRIERS, BARRIERS), "BARRIER": (BARRIERS, BARRIERS), "FENCE": ((), ()),
    "GLOBAL_ALLOC": (("nblocks", "nbytes"), ("nblocks", "nbytes", "newshrd_ptr")),
    "ALL_ALLOC": (("nblocks", "nbytes"), ("nblocks", "nbytes", "newshrd_ptr")),
    "ALLOC": (("nbytes",), ("nbytes", "newshrd_ptr")), "FREE": (("shrd_ptr",), ("shrd_ptr",)),
    "GLOBAL_LOCK_ALLOC": ((), ("lck",)), "ALL_LOCK_ALLOC": ((), ("lck",)), "LOCK_FREE": (("lck",), ("lck",)),
    "LOCK": (("lck",), ("lck",)), "LOCK_ATTEMPT": (("lck",), ("lck", "result")), "UNLOCK": (("lck",), ("lck",)),
    "MEMCPY": (COPY, COPY), "MEMGET": (COPY, COPY), "MEMPUT": (COPY, COPY), "MEMSET": (SET, SET), "GET": (GET, GET),
    "PUT": (PUT, PUT),
    "NB_GET_INIT": (GET, (*GET, "handle")), "NB_PUT_INIT": (PUT, (*PUT, "handle")),
    "NB_SYNC": (("handle",), ("handle",)),
    "ALL_BROADCAST": (SPREAD, SPREAD), "ALL_SCATTER": (SPREAD, SPREAD), "ALL_GATHER": (SPREAD, SPREAD),
    "ALL_GATHER_ALL": (SPREAD, SPREAD), "ALL_EXCHANGE": (SPREAD, SPREAD),
    "ALL_PERMUTE": (("dst", "src", "perm", "nbytes", "upc_flags"),) * 2,
    "ALL_REDUCE": (REDUCE, REDUCE), "ALL_PREFIX_REDUCE": (REDUCE, REDUCE),
    # Of the models: what the tables have no row for.
    "NB_SET_INIT": (SET, (*SET, "handle")), "NB_COPY_INIT": (COPY, (*COPY, "handle")),
    "NB_TRYSYNC": (("handle",), ("handle", "result")),
}
# Berkeley's, and GASNet's.
OTHERS = {
    "TRY_WAIT": (BARRIERS, (*BARRIERS, "result")),
    **{f"GASP_GASNET_{name}": (NODE, NODE) for name in ("GET", "PUT")}, "GASP_GASNET_SET": (NODE_SET, NODE_SET),
    **{f"GASP_GASNET_NB_{name}_INIT": (NODE, (*NODE, "handle")) for name in ("GET", "PUT")},
    "GASP_GASNET_NB_SET_INIT": (NODE_SET, (*NODE_SET, "handle")), "GASP_GASNET_NB_SYNC": (("handle",), ("handle",)),
    "GASP_GASNET_NB_TRYSYNC": (("handle",), ("handle", "result")),
}
SHARED = re.compile(r"thread=(\d+),phase=(\d+),addr=0x([0-9a-f]+)$")


class Call:
    """A call as the .events file has it: the arguments of START and END, all further values, and how it ended."""

    def __init__(self, event, values):
        self.event, self.start, self.end, self.more, self.reason = event, values, None, {}, None

    def __repr__(self):
        return f"{self.event}({self.start} -> {self.end}, {self.more}, {self.reason})"


def value(text):
    """A pointer-to-shared as the job writes it, anything else as it is."""
    shared = SHARED.match(text)
    return f"{shared[1]}.{int(shared[2]):x}.{shared[3]}" if shared else text


def split(event, kind, words, bare):
    """The arguments that the tables give this event, in their order; and the rest."""
    wanted = () if event in bare else {**TABLES, **OTHERS}[event.removeprefix("GASP_UPC_")][kind]
    pairs = [(name, value(text)) for name, text in (word.split("=", 1) for word in words)]
    assert tuple(name for name, _ in pairs[:len(wanted)]) == wanted, f"{event}: {pairs}"
    return dict(pairs[:len(wanted)]), dict(pairs[len(wanted):])


def calls_seen(path, bare=()):
    """The UPC calls of a .events file in the order in which they began, by tid; and the thread's label ("thread:2",
    "pid:17"). bare: events that the runtime's model has without their arguments."""
    threads, labels, open_calls = {}, {}, {}
    for line in path.read_text().splitlines():
        words = line.split(" @ ")[0].split()
        label, tid, kind, event, words = words[1], int(words[2].rpartition(":")[2]), words[3], words[4], words[5:]
        assert kind in ("START", "END", "ATOMIC"), line
        if not event.startswith(("GASP_UPC_", "GASP_GASNET_")):
            continue
        labels[tid] = label
        reason = words.pop().removeprefix("end=") if words and words[-1].startswith("end=") else None
        if kind == "END":
            call = open_calls[tid].pop()
            assert call.event == event, line
            call.end, call.more = split(event, 1, words, bare)
            call.reason = reason
            continue
        call = Call(event, None)
        call.start, call.more = split(event, 2 if kind == "ATOMIC" else 0, words, bare)
        threads.setdefault(tid, []).append(call)
        if kind == "START":
            open_calls.setdefault(tid, []).append(call)
    assert not any(open_calls.values())
    return threads, labels


def calls_made(folder):
    """What the job wrote down: {tid: (thread, [(depth, function, arguments, results), ...])}."""
    made = {}
    for path in sorted(folder.glob("calls.*")):
        first, *lines = path.read_text().splitlines()
        calls = []
        for line in lines:
            depth, function, rest = line.split(" ", 2)
            arguments, _, results = rest.partition(">")
            calls.append((int(depth), function,
                          *(dict(word.split("=", 1) for word in text.split()) for text in (arguments, results))))
        made[int(first.split()[1])] = (int(path.suffix[1:]), calls)
    return made


def known_ones(arguments):
    return {name: text for name, text in arguments.items() if text != "unknown"}


def differences(seen, made, event_of, whole=True):
    """Where the calls of one thread differ in event, order, arguments or results. Arguments that a function does not
    have are unknown; where not the whole of them can be known, others may be, too."""
    made = [call for call in made if event_of(call[1])]
    for position, (call, (_, function, arguments, results)) in enumerate(zip(seen, made)):
        known = {name: text for name, text in arguments.items() if "." not in name}
        peers = {name: text for name, text in arguments.items() if "." in name}
        where = f"call {position}: {function} {arguments} {results}: seen {call}"
        if call.event != event_of(function):
            return where
        if not whole:
            if known_ones(call.start).items() - known.items() \
                    or known_ones(call.end or {}).items() - {**known, **results}.items():
                return f"{where}: something is known that was not so"
            continue
        if known_ones(call.start) != known:
            return f"{where}: at START"
        if call.end is not None and known_ones(call.end) != {**known, **results}:
            return f"{where}: at END"
        for name in ("dst", "src"):
            thread = peers.get(f"{name}.thread",
                               known.get(name, "").partition(".")[0] if "." in known.get(name, "") else None)
            for key in (f"{name}.thread", "thread", f"{name[0]}thread"):
                if thread is not None and key in call.more and call.more[key] != thread:
                    return f"{where}: {key}"
            if thread is not None and access(call.event) and not any(
                    key in call.more for key in (f"{name}.thread", "thread", f"{name[0]}thread")):
                return f"{where}: no peer for {name}"
    return f"{len(seen)} calls were seen, {len(made)} made" if len(seen) != len(made) else None


def access(event):
    return re.fullmatch(r"GASP_UPC_(GET|PUT|MEM\w+|NB_(GET|PUT|SET|COPY)_INIT)", event)


def whole_life(job, observe, command, *options, ranks=3, env=None):
    """Observes a job from its gate to its end: (job, its folder, gaspbpf's report)."""
    started = job(command, ranks=ranks, env={"UPC_CALLS": "calls"})
    started.wait_ready()
    events = started.folder / "run.events"
    watcher = observe("-p", started.process.pid, "-o", events, "--json", *options, env=env)
    started.work()
    status = started.end()
    ended, out, errors = watcher.finish()
    assert ended == 0, errors
    return started, status, events, out


def command(program, rounds, *more):
    return [gaspbpf.WORKLOADS / program, "-n", "3", "--rounds", str(rounds), "--warmup", "1", *more]
