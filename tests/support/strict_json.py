# SPDX-License-Identifier: BSD-2-Clause
"""JSON by the letter, as a viewer may read it that forgives nothing."""
import codecs
import json

BY_NUMBER = "by_number"  # for bytes.decode(): a byte that is no UTF-8 stands as the character of its number
codecs.register_error(BY_NUMBER, lambda error: ("".join(map(chr, error.object[error.start:error.end])), error.end))


def no_such_number(text):
    raise ValueError(f"{text} is no JSON")


def one_of_each(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"an object has a key twice: {keys}"
    return dict(pairs)


def parse(data):
    """UTF-8, no NaN, no key twice, no raw control character, nothing after the end. Fractions stay text."""
    return json.loads(data.decode("utf-8", errors="strict"), parse_constant=no_such_number,
                      object_pairs_hook=one_of_each, parse_float=str)
