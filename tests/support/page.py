# SPDX-License-Identifier: BSD-2-Clause
"""What is in a page of `gaspbpf export -o run.html`, as docs/page.md says it."""
import base64
import gzip
import json
import re

BLOCK = re.compile(rb'<script type="application/x-gaspbpf" id="gaspbpf-([a-z_]+)">([A-Za-z0-9+/]*={0,2})</script>\n')
COLUMNS = ["start", "duration", "level", "event", "site", "words", "end"]
ARROW_COLUMNS = ["from_lane", "from", "to_lane", "to", "kind"]


class Bytes:
    """Numbers one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def u32(self):
        return int.from_bytes(self.part(4), "little")

    def part(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size:self.at]

    def column(self):
        return Bytes(self.part(self.u32()))

    def ended(self):
        return self.at == len(self.data)


class Page:
    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.blocks = {name.decode(): gzip.decompress(base64.b64decode(text, validate=True))
                       for name, text in BLOCK.findall(self.bytes)}
        self.shell = BLOCK.sub(b"", self.bytes)
        self.facts = json.loads(self.blocks["facts"])

    def calls(self):
        """By lane: a dictionary for each call that is drawn, times since the start of the recording."""
        data = Bytes(self.blocks["calls"])
        columns = {name: data.column() for name in COLUMNS}
        assert data.ended()
        result = []
        for lane in self.facts["lanes"]:
            assert lane["first"] == sum(len(calls) for calls in result)
            start, calls = 0, []
            for _ in range(lane["calls"]):
                call = {name: column.byte() if name in ("level", "end") else column.varint()
                        for name, column in columns.items()}
                start += call["start"]
                calls.append({**call, "start": start, "event": self.facts["events"][call["event"]],
                              "site": self.facts["sites"][call["site"] - 1] if call["site"] else None,
                              "words": self.facts["words"][call["words"]]})
            result.append(calls)
        assert all(column.ended() for column in columns.values())
        return result

    def bins(self):
        """How many there are; and by lane, by number: (count, event, {group: share})."""
        data = Bytes(self.blocks["bins"])
        nbins, result = data.u32(), []
        for _ in self.facts["lanes"]:
            bins, at = {}, data.varint()
            while at < nbins:
                count, event = data.varint(), self.facts["events"][data.varint()]["name"]
                bins[at] = count, event, {self.facts["groups"][data.byte()]: data.byte() for _ in range(data.byte())}
                at += 1 + data.varint()
            assert at == nbins
            result.append(bins)
        assert data.ended()
        return nbins, result

    def arrows(self):
        """(kind, (lane, time) from, (lane, time) to), in the order of the page."""
        if "arrows" not in self.blocks:
            return None
        data = Bytes(self.blocks["arrows"])
        count, columns = data.u32(), None
        columns = [data.column() for _ in ARROW_COLUMNS]
        assert data.ended()
        rows = [[column.varint() for column in columns] for _ in range(count)]
        assert all(column.ended() for column in columns)
        # kinds are bytes, and below 128
        return [(self.facts["arrow_kinds"][kind], (from_lane, start), (to_lane, end))
                for from_lane, start, to_lane, end, kind in rows]
