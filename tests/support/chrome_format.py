# SPDX-License-Identifier: BSD-2-Clause
"""What the Trace Event Format demands of a file, as strictly as a viewer may: kinds of events and what each must have,
slices that nest, also by the sums of binary fractions, tracks that are named, arrows with two ends that are in a slice,
counters of one value whose time goes on."""
import bisect
import collections

from strict_json import parse

SCOPES = {"g", "p", "t"}
NEEDED = {  # and nothing else, but for what may be there
    "X": ({"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"}, {"cname"}),
    "M": ({"ph", "name", "pid", "tid", "args"}, set()),
    "i": ({"ph", "s", "name", "cat", "pid", "tid", "ts", "args"}, set()),
    "C": ({"ph", "name", "cat", "pid", "tid", "ts", "args"}, set()),
    "s": ({"ph", "id", "name", "cat", "pid", "tid", "ts"}, set()),
    "f": ({"ph", "bp", "id", "name", "cat", "pid", "tid", "ts"}, set()),
}
META = {"process_name": ("name", str), "thread_name": ("name", str), "process_sort_index": ("sort_index", int),
        "thread_sort_index": ("sort_index", int)}
# Reserved names that Catapult had in 2016 and still has: all others make its import fail.
COLOURS = {"thread_state_uninterruptible", "thread_state_iowait", "thread_state_running", "thread_state_runnable",
           "thread_state_sleeping", "thread_state_unknown", "light_memory_dump", "detailed_memory_dump", "generic_work",
           "good", "bad", "terrible", "black", "rail_response", "rail_animation", "rail_idle", "rail_load",
           "cq_build_running", "cq_build_passed", "cq_build_failed", "cq_build_abandoned"}


def ns(micros):
    """Microseconds, as text or a whole number, exactly."""
    whole, _, part = str(micros).partition(".")
    assert len(part) <= 3 and whole.isdigit(), micros
    return int(whole) * 1000 + int((part + "000")[:3])


def check_event(event):
    assert event["ph"] in NEEDED, event
    needed, allowed = NEEDED[event["ph"]]
    assert needed <= set(event) <= needed | allowed, event
    assert all(isinstance(event[key], int) and 0 <= event[key] < 1 << 53 for key in ("pid", "tid")), event
    assert isinstance(event["name"], str) and event["name"], event
    if "ts" in event:
        ns(event["ts"])
    if event["ph"] == "M":
        key, kind = META[event["name"]]
        assert list(event["args"]) == [key] and isinstance(event["args"][key], kind), event
    if event["ph"] == "i":
        assert event["s"] in SCOPES, event
    if event["ph"] == "C":
        assert event["args"] and all(float(value) >= 0 for value in event["args"].values()), event
    assert event.get("cname", "good") in COLOURS, event


def nests(slices):
    until = []
    for start, end in sorted(slices, key=lambda one: (one[0], -one[1])):
        while until and until[-1] <= start:
            until.pop()
        assert not until or end <= until[-1], f"{start} to {end} sticks out of its parent: {until[-1]}"
        until.append(end)


def check_nesting(events):
    tracks, summed = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            track = event["pid"], event["tid"]
            tracks[track].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
            summed[track].append((float(event["ts"]), float(event["ts"]) + float(event["dur"])))
    for track, slices in tracks.items():
        nests(slices)
        nests(summed[track])
    return tracks


def covered(slices):
    """The outermost ones: (their begins, their ends)."""
    begins, ends = [], []
    for start, end in sorted(slices):
        if not ends or start >= ends[-1]:
            begins.append(start)
            ends.append(max(end, start + 1))
    return begins, ends


def check_arrows(events, tracks):
    pairs = collections.defaultdict(dict)
    outermost = {track: covered(slices) for track, slices in tracks.items()}
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in pairs[event["id"]], event
            pairs[event["id"]][event["ph"]] = event
            begins, ends = outermost[event["pid"], event["tid"]]
            place = bisect.bisect_right(begins, ns(event["ts"])) - 1
            assert place >= 0 and ns(event["ts"]) < ends[place], event
    for both in pairs.values():
        assert set(both) == {"s", "f"} and both["s"]["name"] == both["f"]["name"], both


def check_names(events):
    """Each track that has something has a name, and each process; no two stand at the same place."""
    named = collections.Counter((event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M")
    assert set(named.values()) <= {1}, named
    threads = {key[1:] for key in named if key[0] == "thread_name"}
    processes = {key[1] for key in named if key[0] == "process_name"}
    for event in events:
        if event["ph"] in "Xsf" or (event["ph"] == "i" and event["s"] == "t"):
            assert (event["pid"], event["tid"]) in threads, event
        assert event["pid"] in processes or (event["ph"] == "i" and event["s"] == "g"), event
    places = [event["args"]["sort_index"] for event in events if event["name"] == "process_sort_index"]
    assert len(places) == len(set(places))
    places = [(event["pid"], event["args"]["sort_index"]) for event in events if event["name"] == "thread_sort_index"]
    assert len(places) == len(set(places))


def counters(trace):
    """{(pid, name): [(ns, value)]} in the order of the file, in which time goes on."""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            value, = event["args"].values()
            points = found[event["pid"], event["name"]]
            assert not points or points[-1][0] < ns(event["ts"]), event
            points.append((ns(event["ts"]), float(value)))
    return dict(found)


def checked(data):
    """The trace, once it has been found to be without fault."""
    trace = parse(data)
    assert trace["displayTimeUnit"] in ("ns", "ms")
    for event in trace["traceEvents"]:
        check_event(event)
    check_names(trace["traceEvents"])
    check_arrows(trace["traceEvents"], check_nesting(trace["traceEvents"]))
    counters(trace)
    return trace
