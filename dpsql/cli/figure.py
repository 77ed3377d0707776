"""Which figures do the commands about accounting take, and how do they show theirs?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import inf
from typing import Any, Final, TypeAlias

import click

from dpsql.cli import format
from dpsql.cli.option import Decorator, number

Row: TypeAlias = tuple[str | int | float | Decimal | None, ...]

_DIGITS: Final = 4


def positive(text: str) -> Decimal:
    """A number from 1e-9 to 1e9."""
    return _within(text, "1e-9", "1e9")


def loss(text: str) -> Decimal:
    """An epsilon from 1e-9 to 700: beyond, it is no protection and overflows."""
    return _within(text, "1e-9", "700")


def share(text: str) -> Decimal:
    """A delta above 0: from 1e-99 to 0.999."""
    return _within(text, "1e-99", "0.999")


def share_or_zero(text: str) -> Decimal:
    """A delta, or 0."""
    value = number(text)
    return share(text) if value else value


def _within(text: str, low: str, high: str) -> Decimal:
    value = number(text)
    if not Decimal(low) <= value <= Decimal(high):
        raise click.BadParameter(f"{text!r} is not between {low} and {high}.")
    return value


def option(*names: str, kind: Callable[[str], Decimal] = positive, **extra: Any) -> Decorator:
    """An option that takes a number of a kind."""
    return click.option(*names, type=kind, **extra)


def whole(name: str, **extra: Any) -> Decorator:
    """An option that takes a whole number from 1 to a million."""
    return click.option(name, type=click.IntRange(min=1, max=10**6), **extra)


EPSILON: Final = option("--epsilon", "-e", kind=loss, help="The total loss.")
DELTA: Final = option("--delta", "-d", kind=share, help="The total delta.")
NEEDED_EPSILON: Final = option("--epsilon", "-e", kind=loss, required=True, help="The total loss.")
NEEDED_DELTA: Final = option("--delta", "-d", kind=share, required=True, help="The total delta.")
STEP_EPSILON: Final = option("--step-epsilon", kind=loss, required=True, help="Epsilon of each step.")
STEP_DELTA: Final = option(
    "--step-delta", kind=share_or_zero, default="0", show_default=True, help="Delta of each step."
)
SLACK: Final = option(
    "--slack", kind=share, required=True, help="Delta of the composition, beside that of the steps."
)
CLIP: Final = option("--clip", default="1", show_default=True, help="L2 sensitivity, or length of a clip.")
BATCH: Final = whole("--batch", help="How many vectors are averaged.")


def show(names: tuple[str, ...], rows: Sequence[Row], form: str) -> None:
    """Write rows: floats in four digits for people, in full for programs."""
    # No bound is infinite; who has none has no answer.
    rows = [tuple(None if value == inf else value for value in row) for row in rows]
    numeric = tuple(any(isinstance(row[i], int | float | Decimal) for row in rows) for i in range(len(names)))
    if form in (format.TABLE, "markdown"):
        sheet = format.Sheet(names, [tuple(_short(value) for value in row) for row in rows], numeric)
    else:
        sheet = format.Sheet(names, rows, numeric)
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.console().print(screen.table(sheet))
        return
    document = [dict(zip(names, row, strict=True)) for row in rows]
    click.echo(format.written(sheet, document, form), nl=False)


def _short(value: str | int | float | Decimal | None) -> str | int | Decimal:
    match value:
        case None:
            return "-"
        case float():
            return Decimal(f"{value:.{_DIGITS}g}")
        case _:
            return value
