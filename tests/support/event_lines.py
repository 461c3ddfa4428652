# SPDX-License-Identifier: BSD-2-Clause
"""Reading a file of .events: the calls of one model, with their arguments as the END tells them."""
import collections
import re
import typing

LINE = r"[\d.]+ (?:\w+:(\d+)) \S*?:(\d+) (START|END|ATOMIC) GASP_{}_(\w+)((?: \w+=.*?)?)(?: @ .*)?$"


class Call(typing.NamedTuple):
    rank: int               # or the pid, of a process without ranks
    event: str              # without GASP_X_
    arguments: dict         # {name: text}
    around: str | None      # the event of the same model that it is made in
    atomic: bool


def arguments_of(text):
    """name=value ...: the blank of "long double" is written as \\x20."""
    return {name: value.replace("\\x20", " ")
            for name, value in (item.split("=", 1) for item in re.split(r" (?=[\w.]+=)", text.strip()) if item)}


def lines(path, language):
    """(rank, tid, START|END|ATOMIC, event, arguments) of each line that is an event of the language."""
    pattern = re.compile(LINE.format(language))
    for match in map(pattern.match, path.read_text().splitlines()):
        if match:
            rank, tid, kind, event, text = match.groups()
            yield int(rank), int(tid), kind, event, arguments_of(text)


def calls(path, language):
    stacks = collections.defaultdict(list)
    for rank, tid, kind, event, arguments in lines(path, language):
        stack = stacks[tid]
        if kind == "START":
            stack.append(event)
            continue
        if kind == "END":
            assert stack.pop() == event
        yield Call(rank, event, arguments, stack[-1] if stack else None, kind == "ATOMIC")
