# SPDX-License-Identifier: BSD-2-Clause
"""Prometheus' protocol buffers, read by hand: io.prometheus.client.MetricFamily of client_model's metrics.proto, each
with its length before it.

Only what the tests ask for, and nothing of gaspbpf's own writer. A field of a number that is not expected is an error.
"""
import struct

FAMILY = {1: "name", 2: "help", 3: "type", 4: "metric"}
METRIC = {1: "label", 2: "gauge", 3: "counter", 7: "histogram"}
LABEL = {1: "name", 2: "value"}
NUMBER = {1: "value", 3: "created"}
TIMESTAMP = {1: "seconds", 2: "nanos"}
HISTOGRAM = {1: "count", 2: "sum", 3: "bucket", 5: "schema", 6: "zero_threshold", 7: "zero_count", 12: "span",
             13: "delta", 15: "created"}
BUCKET = {1: "count", 2: "bound"}
SPAN = {1: "offset", 2: "length"}
KINDS = {0: "counter", 1: "gauge", 4: "histogram"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def zigzag(value):
    return value >> 1 ^ -(value & 1)


def message(data, names):
    """{name: [values]} of one message: integers, floats, bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            assert tag & 7 == 2, "a kind of field that is not expected"
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        fields.setdefault(names[tag >> 3], []).append(value)
    return fields


def one(fields, name, other=None):
    values = fields.get(name, [])
    assert len(values) <= 1, f"{name} more than once"
    return values[0] if values else other


def created(fields):
    """Seconds since 1970; None where it is not told."""
    if "created" not in fields:
        return None
    time = message(one(fields, "created"), TIMESTAMP)
    return one(time, "seconds", 0) + one(time, "nanos", 0) / 1e9


def native_buckets(fields):
    """[(above, up to, count)] of a native histogram, empty ones left out."""
    schema = zigzag(one(fields, "schema"))
    deltas = [zigzag(delta) for delta in fields.get("delta", [])]
    buckets, index, count = [], 0, 0
    for text in fields.get("span", []):
        span = message(text, SPAN)
        index += zigzag(one(span, "offset", 0))
        for _ in range(one(span, "length")):
            count += deltas.pop(0)
            assert count > 0, "an empty bucket in a span"
            buckets.append((2 ** ((index - 1) / 2 ** schema), 2 ** (index / 2 ** schema), count))
            index += 1
    assert not deltas
    return buckets


def histogram(data):
    fields = message(data, HISTOGRAM)
    read = {"count": one(fields, "count"), "sum": one(fields, "sum"), "created": created(fields)}
    if "schema" in fields:
        read["native"] = native_buckets(fields)
    else:
        buckets = [message(bucket, BUCKET) for bucket in fields.get("bucket", [])]
        read["buckets"] = [(one(bucket, "bound"), one(bucket, "count", 0)) for bucket in buckets]
    return read


def families(data):
    """{family: (kind, [(labels, value)])}; values are floats with when they began, or histograms."""
    found, at = {}, 0
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data)
        family, at = message(data[at:at + size], FAMILY), at + size
        name, kind = one(family, "name").decode(), KINDS[one(family, "type", 0)]
        assert name not in found, f"{name} twice"
        rows = []
        for text in family.get("metric", []):
            metric = message(text, METRIC)
            labels = [message(label, LABEL) for label in metric.pop("label", [])]
            labels = {one(label, "name").decode(): one(label, "value", b"").decode() for label in labels}
            assert list(metric) == [kind], f"{name}: {list(metric)} in a family of {kind}s"
            value = one(metric, kind)
            if kind == "histogram":
                rows.append((labels, histogram(value)))
            else:
                number = message(value, NUMBER)
                rows.append((labels, {"value": one(number, "value", 0.0), "created": created(number)}))
        found[name] = (kind, rows)
    return found


def row(found, name, **labels):
    """The one row of a family that has these labels."""
    rows = [value for has, value in found[name][1] if labels.items() <= has.items()]
    assert len(rows) == 1, f"{name} {labels}: {len(rows)} rows"
    return rows[0]
