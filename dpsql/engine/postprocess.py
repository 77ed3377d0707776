"""What does the analyst's query make of the noisy cells?

It runs in a database of its own that holds released relations and nothing else, so whatever it computes
is post-processing. Its SQL, too, is generated from the checked tree.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from dpsql import errors
from dpsql.engine.release import Column, Relation, Release, python_values
from dpsql.engine.render import SQL_TYPES, Renderer, quote
from dpsql.errors import EngineFailure
from dpsql.sql.expression import Call, Expression, Literal, Type, columns, rewrite
from dpsql.sql.expression import Column as Reference
from dpsql.sql.relation import Item, Ordering, Query

TIME_LIMIT: Final = 60_000
"""Milliseconds one post-processing statement may take."""

SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}


class Postprocessor:
    """An empty database in which released relations are shaped into answers."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config=SETTINGS)
        self._connection.execute(f"SET max_execution_time={TIME_LIMIT}")
        self._connection.execute("SET lock_configuration=true")
        self._lock = threading.Lock()

    def close(self) -> None:
        """Drop everything."""
        self._connection.close()

    def answer(self, query: Query, half_widths: Mapping[str, float], relation: Relation) -> Release:
        """Run the outer query over one released relation.

        Args:
            query: items, HAVING, ORDER BY and LIMIT over columns of ``released``.
            half_widths: the 95 % half-width of each noisy column m1...
            relation: the released columns.

        Raises:
            EngineFailure: when it fails; its text is constant.
        """
        with self._lock:
            try:
                fetched = self._run(statement(query, half_widths), relation)
            except duckdb.Error:
                raise EngineFailure(
                    errors.ENGINE_FAILURE, "The noisy values could not be shaped into the answer."
                ) from None
        return _release(query.items, half_widths, fetched)

    def _run(self, sql: str, relation: Relation) -> dict[str, NDArray[Any]]:
        if not relation.arrays:
            return self._fetch(sql)
        self._connection.register("arrived", dict(relation.arrays))
        try:
            typed = ", ".join(
                f"CAST({quote(n)} AS {SQL_TYPES[t]}) AS {quote(n)}" for n, t in relation.types.items()
            )
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE released AS SELECT {typed} FROM arrived"
            ).fetchall()
            return self._fetch(sql)
        finally:
            self._connection.unregister("arrived")
            self._connection.execute("DROP TABLE IF EXISTS released").fetchall()

    def _fetch(self, sql: str) -> dict[str, NDArray[Any]]:
        return dict(self._connection.execute(sql).fetchnumpy())


def statement(query: Query, half_widths: Mapping[str, float]) -> str:
    """The outer query as SQL over ``released``: columns i1.. are the items, e1.. their errors."""
    render = Renderer(lambda column: quote(column.name))
    shown = []
    for number, item in enumerate(query.items, start=1):
        value = render(item.expression)
        if item.expression.type is Type.INTEGER:
            value = f"TRY_CAST({value} AS BIGINT)"
        shown.append(f"{value} AS i{number}")
        error = _error(item.expression, half_widths, render)
        if error is not None:
            shown.append(f"{error} AS e{number}")
    parts = [f"SELECT {', '.join(shown)}", "FROM released"]
    if query.having is not None:
        parts.append(f"WHERE {render(query.having)}")
    # A constant orders nothing, and the engine would read a whole number as the place of a column.
    terms = [_term(o, render) for o in query.order if not isinstance(o.expression, Literal)]
    parts.append(f"ORDER BY {', '.join([*terms, 'rowid'])}")
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    if query.offset is not None:
        parts.append(f"OFFSET {query.offset}")
    return "\n".join(parts)


def _term(ordering: Ordering, render: Renderer) -> str:
    direction = "DESC" if ordering.descending else "ASC"
    return f"{render(ordering.expression)} {direction} NULLS {'FIRST' if ordering.nulls_first else 'LAST'}"


def _noisy(expression: Expression, half_widths: Mapping[str, float]) -> list[Reference]:
    return list(dict.fromkeys(c for c in columns(expression) if c.name in half_widths))


def _error(expression: Expression, half_widths: Mapping[str, float], render: Renderer) -> str | None:
    """An expression's half-width: the root of the summed squares of what each noisy column moves it by."""
    noisy = _noisy(expression, half_widths)
    if not noisy or not expression.type.numeric:
        return None
    if len(noisy) == 1 and expression == noisy[0]:
        return f"CAST({half_widths[noisy[0].name]!r} AS DOUBLE)"
    moves = []
    for column in noisy:
        up, down = (render(_moved(expression, column, sign * half_widths[column.name])) for sign in (1, -1))
        here = f"CAST({render(expression)} AS DOUBLE)"
        moves.append(
            f"POW(GREATEST(ABS(CAST({up} AS DOUBLE) - {here}), ABS(CAST({down} AS DOUBLE) - {here})), 2)"
        )
    return f"SQRT({' + '.join(moves)})"


def _moved(expression: Expression, column: Reference, distance: float) -> Expression:
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


def _release(
    items: tuple[Item, ...], half_widths: Mapping[str, float], fetched: Mapping[str, NDArray[Any]]
) -> Release:
    shown, values = [], []
    for number, item in enumerate(items, start=1):
        values.append(python_values(fetched[f"i{number}"], item.expression.type))
        shown.append(_column(item, half_widths, fetched.get(f"e{number}")))
    return Release(tuple(shown), list(zip(*values, strict=True)))


def _column(item: Item, half_widths: Mapping[str, float], widths: NDArray[Any] | None) -> Column:
    exact = not _noisy(item.expression, half_widths)
    if widths is None:
        return Column(item.name, item.expression.type, None, exact)
    plain = tuple(np.nan_to_num(np.ma.filled(widths, 0.0), nan=0.0).tolist())
    largest = max(plain, default=_declared(item, half_widths))
    return Column(item.name, item.expression.type, largest, exact, plain)


def _declared(item: Item, half_widths: Mapping[str, float]) -> float | None:
    expression = item.expression
    return half_widths.get(expression.name) if isinstance(expression, Reference) else None
