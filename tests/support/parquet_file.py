# SPDX-License-Identifier: BSD-2-Clause
"""Reads a Parquet file by the letter of its specification (parquet.thrift and Encodings.md of apache/parquet-format),
and believes nothing: every byte belongs to something, every checksum, count and bound is that of the values."""
import ctypes
import struct
import zlib

BOOLEAN, INT64, BYTE_ARRAY = 0, 2, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2
OPTIONAL, UTF8, ZSTD = 1, 0, 6
ROWS_MOST = 128 * 1024


class Compact:
    """Thrift's compact protocol. A struct is a dictionary by the fields' numbers."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def binary(self):
        size = self.varint()
        self.at += size
        assert self.at <= len(self.data)
        return bytes(self.data[self.at - size:self.at])

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.binary()
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, f"no type of ours: {kind}"
        return self.struct()

    def struct(self):
        fields, number = {}, 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            assert number not in fields
            fields[number] = self.value(head & 15)
        return fields


def unpack_zstd(data, size):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(size + 1)
    assert library.ZSTD_decompress(room, ctypes.c_size_t(size + 1), data, ctypes.c_size_t(len(data))) == size
    return room.raw[:size]


def runs(data, bits, count):
    """Numbers in the hybrid of runs and packed groups of eight; all of the data is used."""
    reader, numbers = Compact(data), []
    while len(numbers) < count:
        head = reader.varint()
        if head & 1:
            size = (head >> 1) * bits
            packed = int.from_bytes(data[reader.at:reader.at + size], "little")
            assert reader.at + size <= len(data)
            mask, digits = (1 << bits) - 1, f"{packed:0{8 * size}b}"
            if bits == 1:
                numbers += [int(digit) for digit in reversed(digits)]
            else:
                numbers += [int(digits[end - bits:end], 2) & mask for end in range(8 * size, 0, -bits)]
            reader.at += size
        else:
            size = (bits + 7) // 8
            numbers += [int.from_bytes(data[reader.at:reader.at + size], "little")] * (head >> 1)
            reader.at += size
    assert reader.at == len(data)
    assert len(numbers) - count < 8 and not any(numbers[count:])
    return numbers[:count]


def plain(data, kind, count):
    if kind == INT64:
        assert len(data) == 8 * count
        return list(struct.unpack(f"<{count}q", data))
    if kind == BOOLEAN:
        assert len(data) == (count + 7) // 8
        return [bool(data[i // 8] >> i % 8 & 1) for i in range(count)]
    values, at = [], 0
    for _ in range(count):
        size, = struct.unpack_from("<I", data, at)
        values.append(data[at + 4:at + 4 + size])
        assert len(values[-1]) == size
        at += 4 + size
    assert at == len(data)
    return values


class Pages:
    """The pages of one column of a row group."""

    def __init__(self, data, at, end, kind):
        self.data, self.at, self.end, self.kind = data, at, end, kind
        self.plain_size, self.dictionary, self.values, self.encodings = 0, None, [], {RLE}
        self.first_data = None

    def read(self, rows):
        while self.at < self.end:
            start, reader = self.at, Compact(self.data, self.at)
            head = reader.struct()
            packed = self.data[reader.at:reader.at + head[3]]
            self.at = reader.at + head[3]
            assert self.at <= self.end
            assert zlib.crc32(packed) == head[4] & 0xffffffff
            data = unpack_zstd(packed, head[2])
            self.plain_size += reader.at - start + head[2]
            if head[1] == DICTIONARY_PAGE:
                assert self.dictionary is None and not self.values and set(head) == {1, 2, 3, 4, 7}
                assert head[7][2] == PLAIN
                self.encodings.add(PLAIN)
                self.dictionary = plain(data, self.kind, head[7][1])
                assert len(set(self.dictionary)) == len(self.dictionary) > 0
            else:
                assert head[1] == DATA_PAGE and set(head) == {1, 2, 3, 4, 5}
                self.first_data = self.first_data or start
                self.take(data, head[5])
        assert self.at == self.end and len(self.values) == rows
        return self.values

    def take(self, data, head):
        assert (head[3], head[4]) == (RLE, RLE)
        size, = struct.unpack_from("<I", data)
        levels = runs(data[4:4 + size], 1, head[1])
        data, count = data[4 + size:], sum(levels)
        self.encodings.add(head[2])
        if head[2] == RLE_DICTIONARY:
            codes = runs(data[1:], data[0], count)
            values = [self.dictionary[code] for code in codes]
            assert set(codes) == set(range(len(self.dictionary)))
        else:
            assert head[2] == PLAIN
            values = plain(data, self.kind, count)
        known = iter(values)
        self.values += [next(known) if level else None for level in levels]


def as_bytes(value, kind):
    return struct.pack("<q", value) if kind == INT64 else bytes([value]) if kind == BOOLEAN else value


def check_statistics(statistics, values, kind):
    known = [value for value in values if value is not None]
    assert statistics[3] == len(values) - len(known)
    if not known or max(len(as_bytes(bound, kind)) for bound in (min(known), max(known))) > 256:
        assert set(statistics) == {3}
    else:
        assert statistics == {3: statistics[3], 5: as_bytes(max(known), kind), 6: as_bytes(min(known), kind)}


class Table:
    """columns: {name: values}, NULL is None; types: {name: "number", "truth", "text" or "time"}; notes: {key: text};
    groups: rows of each."""

    def __init__(self, path):
        data = path.read_bytes()
        assert data[:4] == data[-4:] == b"PAR1"
        size, = struct.unpack_from("<I", data, len(data) - 8)
        reader = Compact(data, len(data) - 8 - size)
        footer = reader.struct()
        assert reader.at == len(data) - 8
        assert set(footer) <= {1, 2, 3, 4, 5, 6, 7} and footer[1] in (1, 2)
        assert footer[6].startswith(b"gaspbpf version ")
        self.read_schema(footer[2])
        assert footer[7] == [{1: {}}] * len(self.kinds)
        self.notes = {note[1].decode(): note[2].decode() for note in footer.get(5, [])}
        assert len(self.notes) == len(footer.get(5, []))
        self.columns, self.groups, self.at = {name: [] for name in self.kinds}, [], 4
        for group in footer[4]:
            self.read_group(data, group)
        assert self.at == len(data) - 8 - size
        assert footer[3] == sum(self.groups) == len(next(iter(self.columns.values())))
        self.rows = footer[3]

    def read_schema(self, schema):
        root, *leaves = schema
        assert root[5] == len(leaves) and 1 not in root
        self.kinds, self.types = {}, {}
        for leaf in leaves:
            name = leaf[4].decode()
            assert name not in self.kinds and leaf[3] == OPTIONAL
            self.kinds[name], self.types[name] = leaf[1], {INT64: "number", BOOLEAN: "truth"}.get(leaf[1])
            if leaf[1] == BYTE_ARRAY:
                assert leaf[6] == UTF8 and leaf[10] == {1: {}}
                self.types[name] = "text"
            elif 10 in leaf:
                assert leaf[1] == INT64 and leaf[10] == {8: {1: True, 2: {3: {}}}}  # UTC, ns
                self.types[name] = "time"
            else:
                assert set(leaf) == {1, 3, 4}

    def read_group(self, data, group):
        rows, start, plain_size = group[3], self.at, 0
        assert 0 < rows <= ROWS_MOST and group[5] == start and len(group[1]) == len(self.kinds)
        for (name, kind), chunk in zip(self.kinds.items(), group[1]):
            about = chunk[3]
            assert about[3] == [name.encode()] and (about[1], about[4], about[5]) == (kind, ZSTD, rows)
            assert about.get(11, about[9]) == self.at
            pages = Pages(data, self.at, self.at + about[7], kind)
            values = pages.read(rows)
            assert pages.plain_size == about[6] and set(about[2]) >= pages.encodings
            assert pages.first_data == about[9] and (pages.dictionary is not None) == (11 in about)
            check_statistics(about[12], values, kind)
            if kind == BYTE_ARRAY:
                texts = {value: value.decode("utf-8") for value in set(values) - {None}}
                values = [texts.get(value) for value in values]
            self.columns[name] += values
            self.at += about[7]
            plain_size += about[6]
        assert (group[2], group[6]) == (plain_size, self.at - start)
        self.groups.append(rows)

    def each(self, *names):
        return zip(*(self.columns[name] for name in names))

    def __iter__(self):
        for values in zip(*self.columns.values()):
            yield dict(zip(self.columns, values))
