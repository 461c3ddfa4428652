# SPDX-License-Identifier: BSD-2-Clause
"""What is in an archive of OTF2, as its own library reads it (Debian's python3-otf2), and as a report says."""
import collections
import json
import re
import subprocess

import otf2

import gaspbpf

UNKNOWN = 2 ** 64 - 1
NONE = 2 ** 32 - 1


class Archive:
    """records: by location's reference, [(time since the start, kind, its own fields)]; each event but attributes."""

    def __init__(self, path):
        self.records, self.locations, self.attributes, self.tids = collections.defaultdict(list), {}, [], {}
        with otf2.reader.open(str(path)) as trace:
            d = trace.definitions
            self.clock = d.clock_properties
            self.regions = [(r.name, r.description, str(r.region_role), str(r.paradigm)) for r in d.regions]
            self.groups = [(str(g.group_type), g.name, len(g.members)) for g in d.groups]
            self.comms = [(c.name, self.members(c.group)) for c in d.comms]
            self.windows = [w.name for w in d.rma_wins]
            self.nodes = [(n.name, n.class_name, n.parent.name if n.parent else None) for n in d.system_tree_nodes]
            self.of_nodes = {(p.system_tree_node.name, p.name): p.value for p in d.system_tree_node_properties}
            self.processes = [g.name for g in d.location_groups]
            for place in d.locations:
                self.tids[ref(place)] = next(p.value for p in d.location_properties if p.location is place) \
                    if "not observed" not in place.name else None
                self.locations[ref(place)] = (place.group.name, place.name, place.number_of_events)
            for place, event in trace.events if self.locations else ():  # the library refuses none
                self.records[ref(place)].append((event.time - self.clock.global_offset, type(event).__name__, event))
                if event.attributes:
                    self.attributes.append({a.name: v for a, v in event.attributes.items()})

    @staticmethod
    def members(group):
        return [(m.group.name, m.name) for m in group.members]

    def story(self, location=0):
        """[(time, kind, region's name or fields)]"""
        return [(time, kind, fields(event)) for time, kind, event in self.records[location]]

    def messages(self, location=0):
        return [entry for entry in self.story(location) if entry[1] not in ("Enter", "Leave")]

    def calls(self):
        """{(location, event): [calls, ns]}: what an event's call contains of it is in it."""
        result = collections.defaultdict(lambda: [0, 0])
        for location, records in self.records.items():
            opened = []
            inside = collections.Counter()
            for time, kind, event in records:
                if kind == "Enter":
                    opened.append((event.region, time))
                    inside[event.region.description] += 1
                elif kind == "Leave":
                    region, start = opened.pop()
                    assert region is event.region
                    inside[region.description] -= 1
                    row = result[location, region.description]
                    row[0] += 1
                    row[1] += 0 if inside[region.description] else time - start
            assert not opened
        return result

    def events(self):
        """{event: [calls, ns]}, of all locations."""
        result = collections.defaultdict(lambda: [0, 0])
        for (_, event), (calls, time) in self.calls().items():
            result[event][0] += calls
            result[event][1] += time
        return dict(result)

    def kinds(self):
        return collections.Counter(kind for records in self.records.values() for _, kind, _ in records)

    def moved(self):
        """{(event, kind): [records, bytes]} of records that move bytes, each in the call around it; bytes None: some
        are not known."""
        result = {}
        for records in self.records.values():
            opened = []
            for _, kind, event in records:
                if kind == "Enter":
                    opened.append(event.region.description)
                elif kind == "Leave":
                    opened.pop()
                elif bytes_of(event) is not None:
                    row = result.setdefault((opened[-1], kind), [0, 0])
                    row[0] += 1
                    row[1] += bytes_of(event)
        return result


def bytes_of(event):
    """Of a message or an access."""
    return getattr(event, "msg_length", getattr(event, "bytes", None))


def ref(place):
    """An object's reference in the archive."""
    return place._ref  # pylint: disable=protected-access


def fields(event):
    names = [re.sub("([A-Z]+)", lambda letters: "_" + letters[1].lower(), name).replace("i_d", "id")
             for name, *_ in event._fields]  # pylint: disable=protected-access
    return tuple(plain(getattr(event, name)) for name in names if name not in ("time", "attributes"))


def plain(value):
    return value if isinstance(value, (int, str)) or value is None else getattr(value, "name", str(value))


def exported(recording, name="run.otf2", status=0):
    path = recording.with_name(name)
    result = gaspbpf.run("export", recording, "-o", path)
    assert result.returncode == status, result.stderr
    return Archive(path) if not status else result.stderr


def markers(path):
    """[(time since the start of time, duration, scope, text)], as the library's own tool prints them."""
    printed = subprocess.run(["otf2-marker", path], capture_output=True, text=True, check=True)
    rows = []
    for line in printed.stdout.splitlines():
        if line.startswith("MARKER "):
            time, duration, scope, text = line.split(",", 3)
            rows.append((int(time.split()[-1]), int(duration.split()[-1]), scope.split()[-1], text.split('"')[1]))
    return rows


def reported(recording):
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
