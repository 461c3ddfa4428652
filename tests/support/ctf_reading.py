# SPDX-License-Identifier: BSD-2-Clause
# pylint: disable=protected-access
"""What is in a trace of CTF, as babeltrace2 reads it: its library (Debian's python3-bt2), and its program."""
import collections
import re
import subprocess

import bt2

import gaspbpf

BEGIN = 1_000_000_000_000  # ns: where recordings of tests/support/compose.c begin
REALTIME = 1_700_000_000_000_000_000

Event = collections.namedtuple("Event", "time kind name who fields")
Loss = collections.namedtuple("Loss", "events since until stream")


def plain(value):
    kinds = ((bt2._StringFieldConst, str), (bt2._RealFieldConst, float), (bt2._IntegerFieldConst, int))
    return next(kind(value) for field, kind in kinds if isinstance(value, field))


def fields_of(structure):
    return {name: plain(value) for name, value in structure.items()} if structure is not None else {}


class Trace:
    """events: in the order in which the reader tells them, times in ns since `begin`; losses, environment."""

    def __init__(self, path, begin=BEGIN):
        self.events, self.losses, self.environment = [], [], {}
        for message in bt2.TraceCollectionMessageIterator(str(path)):
            if isinstance(message, bt2._StreamBeginningMessageConst):
                self.environment = {key: str(value) if isinstance(value, bt2._StringValueConst) else int(value)
                                    for key, value in message.stream.trace.environment.items()}
                self.clock = message.stream.cls.default_clock_class
            elif isinstance(message, bt2._EventMessageConst):
                self.events.append(self.event(message, begin))
            elif isinstance(message, bt2._DiscardedEventsMessageConst):
                self.losses.append(Loss(message.count, message.beginning_default_clock_snapshot.value - begin,
                                        message.end_default_clock_snapshot.value - begin, message.stream.id))

    @staticmethod
    def event(message, begin):
        name, _, kind = re.fullmatch("(.*?)(_(entry|exit))?", message.event.name).groups()
        return Event(message.default_clock_snapshot.value - begin, kind, name,
                     fields_of(message.event.common_context_field), fields_of(message.event.payload_field))

    def story(self, tid=None):
        """[(time, kind, name)]"""
        return [(event.time, event.kind, event.name) for event in self.events if tid in (None, event.who["tid"])]

    def fields(self, name, kind="exit"):
        """Of each such event, without what every one has."""
        return [{key: value for key, value in event.fields.items() if key not in ("function", "site", "payload_bytes")}
                for event in self.events if (event.name, event.kind) == (name, kind)]

    def moved(self):
        """{event: bytes} where some are known."""
        result = collections.Counter()
        for event in self.events:
            if "payload_bytes" in event.fields and "inner" not in event.fields:
                result[event.name] += event.fields["payload_bytes"]
        return dict(result)

    def calls(self):
        """{(tid, event): [calls, ns]}: what an event's call contains of it is in it."""
        result, opened = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
        for event in self.events:
            tid, name = event.who["tid"], event.name + (" (inner)" if "inner" in event.fields else "")
            stack = opened[tid, event.fields.get("stack")]
            if event.kind == "exit":
                entered, start = stack.pop()
                assert entered == name
                if name not in (other for other, _ in stack):
                    result[tid, name][1] += event.time - start
                continue
            result[tid, name][0] += 1
            if event.kind == "entry":
                stack.append((name, event.time))
        assert not any(opened.values())
        return dict(result)


def printed(path, *options):
    """Its lines as babeltrace2 prints them, and of what it warns, but for calls that are lost."""
    result = subprocess.run(["babeltrace2", *options, path], capture_output=True, text=True, check=True,
                            timeout=gaspbpf.PATIENCE)
    return result.stdout.splitlines(), [line for line in result.stderr.splitlines() if "Tracer discarded" not in line]


def exported(recording, name="run.ctf", *options, begin=BEGIN):
    path = recording.with_name(name)
    result = gaspbpf.run("export", recording, "-o", path, *options)
    assert result.returncode == 0, result.stderr
    lines, warnings = printed(path)
    assert not warnings
    trace = Trace(path, begin)
    assert len(lines) == len(trace.events)
    times = [event.time for event in trace.events]
    assert times == sorted(times)
    return trace
