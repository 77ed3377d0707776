"""How far can noise move a column of the answer?

A plain noisy column has the half-width of its mechanism. An expression is computed again with each noisy
column moved up and down by its half-width; its own is the root of the summed squares of what that changes
(propagation to first order, for independent noises).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsql.sql.expression import Call, Column, Expression, Literal, Type, columns, rewrite

HalfWidths = Mapping[str, float]
"""The 95 % half-width of each noisy column m1.. of the released relation."""


def noisy(expression: Expression, half_widths: HalfWidths) -> list[Column]:
    """The noisy columns an expression is made of."""
    return list(dict.fromkeys(column for column in columns(expression) if column.name in half_widths))


def moved(expression: Expression, half_widths: HalfWidths) -> Iterator[tuple[str, Expression]]:
    """(suffix, expression) for each move that has to be computed; none for a plain column."""
    if not expression.type.numeric or isinstance(expression, Column):
        return
    for number, column in enumerate(noisy(expression, half_widths), start=1):
        for direction, sign in (("up", 1), ("down", -1)):
            yield f"{number}{direction}", _moved(expression, column, sign * half_widths[column.name])


def combined(
    expression: Expression, half_widths: HalfWidths, value: NDArray[Any], moves: Mapping[str, NDArray[Any]]
) -> tuple[float, ...]:
    """The half-width of each row; () for a column without noise and for texts and conditions."""
    sources = noisy(expression, half_widths)
    if not sources or not expression.type.numeric:
        return ()
    if isinstance(expression, Column):
        return (half_widths[expression.name],) * len(value)
    here = _doubles(value)
    with np.errstate(all="ignore"):
        changes = [
            np.maximum(*(np.abs(_doubles(moves[f"{number}{way}"]) - here) for way in ("up", "down")))
            for number in range(1, len(sources) + 1)
        ]
        widths = np.sqrt(np.sum(np.square(changes), axis=0))
    return tuple(np.nan_to_num(widths, nan=0.0).tolist())


def _doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)


def _moved(expression: Expression, column: Column, distance: float) -> Expression:
    step = Literal(distance, Type.DOUBLE)

    def move(part: Expression) -> Expression | None:
        return Call("add", (part, step), Type.DOUBLE) if part == column else None

    return _widened(rewrite(expression, move))


def _widened(expression: Expression) -> Expression:
    """Integer arithmetic over a moved column is arithmetic of doubles."""

    def widen(part: Expression) -> Expression | None:
        if not isinstance(part, Call) or part.type is not Type.INTEGER:
            return None
        arguments = tuple(_widened(argument) for argument in part.arguments)
        if any(argument.type is Type.DOUBLE for argument in arguments):
            function = "div" if part.function == "intdiv" else part.function
            return Call(function, arguments, Type.DOUBLE)
        return Call(part.function, arguments, part.type)

    return rewrite(expression, widen)
