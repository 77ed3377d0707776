"""How is a table laid out where there is little room? No number is ever cut or folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP: Final = 2  # blanks between columns
_NARROWEST: Final = 20  # cells that a folded column of texts keeps
_INDENT: Final = 2  # of a value that stands below its name


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows under names. Columns that are ``right`` hold numbers: aligned right, on one line, whole.

    Where the table is too wide, texts are folded; where that is not enough, each row becomes a record with a
    line for each column.
    """

    names: tuple[str, ...]
    right: tuple[bool, ...]
    rows: Sequence[tuple[Text, ...]]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        natural = self._width(self._natural())
        return Measurement(min(natural, options.max_width), min(natural, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._fitting(options.max_width)
        if widths is not None:
            yield self._table(widths)
        else:
            yield from self._records(options.max_width)

    def _natural(self) -> list[int]:
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.names)
        return [
            max([cell_len(name), *(cell.cell_len for cell in cells)])
            for name, cells in zip(self.names, columns, strict=True)
        ]

    def _width(self, widths: Sequence[int]) -> int:
        return sum(widths) + _GAP * max(0, len(widths) - 1)

    def _fitting(self, room: int) -> list[int] | None:
        """Widths of the columns with texts folded as little as the room asks for, or None."""
        natural = self._natural()
        for limit in range(max([*natural, _NARROWEST]), _NARROWEST - 1, -1):
            widths = [w if r else min(w, limit) for w, r in zip(natural, self.right, strict=True)]
            if self._width(widths) <= room:
                return widths
        return None

    def _table(self, widths: Sequence[int]) -> Table:
        shown = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, _GAP - 1, 0, 0),
            pad_edge=False,
            header_style="bold",
            show_edge=False,
        )
        for name, right, width in zip(self.names, self.right, widths, strict=True):
            shown.add_column(
                Text(name),
                justify="right" if right else "left",
                no_wrap=right,
                overflow="fold",
                width=width,
            )
        for row in self.rows:
            shown.add_row(*row)
        return shown

    def _records(self, room: int) -> Iterator[Text | Padding]:
        label = max(cell_len(name) for name in self.names)
        for number, row in enumerate(self.rows):
            if number:
                yield Text()
            for name, right, cell in zip(self.names, self.right, row, strict=True):
                yield from _line(name, right, cell, label, room)


def _line(name: str, right: bool, cell: Text, label: int, room: int) -> Iterator[Text | Padding]:
    """A column of a record: its name and its value, beside each other or, where that is too wide, below."""
    head = Text(name, style="bold", overflow="fold")
    if label + _GAP + cell.cell_len <= room:
        yield Text.assemble(head, " " * (label + _GAP - cell_len(name)), cell)
        return
    yield head
    if right:
        # A terminal narrower than the number breaks the line itself, and drops nothing.
        yield Text.assemble(
            " " * max(0, min(_INDENT, room - cell.cell_len)), cell, no_wrap=True, overflow="ignore"
        )
    else:
        cell.overflow = "fold"
        yield Padding(cell, (0, 0, 0, _INDENT), expand=False)
