# SPDX-License-Identifier: BSD-2-Clause
"""What is measured, in the shape in which it is printed and written as JSON."""
import textwrap

from measure import Times

WIDTH = 100


class Table:
    """Rows of times in columns of one unit. A row may have a reason instead, and a note behind it."""

    def __init__(self, title, columns, unit, about, label=36):
        self.title, self.columns, self.unit, self.about, self.label = title, columns, unit, about, label
        self.rows = {}      # label: [Times or other value or None for each column], or the reason why there are none
        self.notes = []
        self.targets = []   # (what, value as text, met)

    def add(self, label, column, times):
        row = self.rows.setdefault(label, [None] * len(self.columns))
        if isinstance(row, str):
            return
        at = self.columns.index(column)
        row[at] = row[at].add(times) if isinstance(row[at], Times) else times

    def absent(self, label, reason):
        self.rows[label] = f"not available: {reason}"

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def get(self, label, column):
        """The median time there, or None."""
        row = self.rows.get(label)
        times = None if row is None or isinstance(row, str) else row[self.columns.index(column)]
        return times.median if isinstance(times, Times) else None

    def target(self, what, value, met):
        """`met` None: could not be judged."""
        self.targets.append((what, value, met))

    def as_json(self):
        def value(cell):
            return cell.as_json() if isinstance(cell, Times) else cell
        rows = [{"row": label, "not_available": row.removeprefix("not available: ")} if isinstance(row, str) else
                {"row": label, **{column: value(cell) for column, cell in zip(self.columns, row)}}
                for label, row in self.rows.items()]
        return {"title": self.title, "unit": self.unit, "rows": rows, "notes": self.notes,
                "targets": [{"target": what, "value": value, "met": met} for what, value, met in self.targets]}

    def print(self):
        width = (WIDTH - self.label) // len(self.columns)
        print(f"\n== {self.title}\n")
        for line in textwrap.wrap(self.about, WIDTH - 2):
            print(f"  {line}")
        print(f"\n  {self.unit:<{self.label - 2}}" + "".join(f"{column:>{width}}" for column in self.columns))
        for label, row in self.rows.items():
            if isinstance(row, str):
                text = textwrap.shorten(row, WIDTH - self.label - 2, placeholder=" ...")
                print(f"  {label:<{self.label - 2}}  {text}")
            else:
                print(f"  {label:<{self.label - 2}}" + "".join(f"{show(cell):>{width}}" for cell in row))
        if self.notes:
            print()
        for note in self.notes:
            print(textwrap.fill(note, WIDTH, initial_indent="  - ", subsequent_indent="    "))
        if self.targets:
            print()
        for what, value, met in self.targets:
            said = "not judged" if met is None else "met" if met else "MISSED"
            print(textwrap.fill(f"{said}: {what}: {value}", WIDTH, initial_indent="  ", subsequent_indent="    "))


def number(value):
    """Three digits at least."""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.3f}"


def show(cell):
    """The median, and how far the best is below it; nothing where there is only one."""
    if cell is None:
        return "-"
    if isinstance(cell, Times):
        return f"{number(cell.median)} {f'-{100 * cell.spread:.0f}%' if len(cell.values) > 1 else '':>4}"
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}" if isinstance(cell, float) else str(cell)
