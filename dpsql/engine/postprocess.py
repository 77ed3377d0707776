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
from dpsql.engine.halfwidth import HalfWidths, combined, moved, noisy
from dpsql.engine.interrupt import interruptible
from dpsql.engine.release import Column, Relation, Release, python_values
from dpsql.engine.render import SQL_TYPES, Renderer, quote
from dpsql.errors import EngineFailure
from dpsql.sql.expression import Column as Reference
from dpsql.sql.expression import Literal, Type
from dpsql.sql.relation import Item, Ordering, Query

TIME_LIMIT: Final = 60_000
"""Milliseconds one post-processing statement may take."""

ORDER: Final = "row_number"
"""The column of a released relation that keeps its order; keys and cells are called k1.. and m1.."""

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

    def answer(self, query: Query, half_widths: HalfWidths, relation: Relation) -> Release:
        """Run the outer query over one released relation.

        Args:
            query: items, HAVING, ORDER BY and LIMIT over columns of ``released``.
            half_widths: the 95 % half-width of each noisy column m1...
            relation: the released columns.

        Raises:
            EngineFailure: when it fails; its text is constant.
        """
        if _is_listing(query):
            fetched = {f"i{n}": relation.arrays[name] for n, name in enumerate(_names(query), start=1)}
            return _release(query.items, half_widths, fetched)
        with self._lock:
            try:
                with interruptible():
                    fetched = self._run(statement(query, half_widths), relation)
            except duckdb.Error:
                raise EngineFailure(
                    errors.ENGINE_FAILURE, "The noisy values could not be shaped into the answer."
                ) from None
        return _release(query.items, half_widths, fetched)

    def _run(self, sql: str, relation: Relation) -> dict[str, NDArray[Any]]:
        rows = len(next(iter(relation.arrays.values())))
        self._connection.register("arrived", {**relation.arrays, ORDER: np.arange(rows)})
        try:
            types = {**relation.types, ORDER: Type.INTEGER}
            typed = ", ".join(f"CAST({quote(n)} AS {SQL_TYPES[t]}) AS {quote(n)}" for n, t in types.items())
            return dict(
                self._connection.execute(
                    f"WITH released AS (SELECT {typed} FROM arrived)\n{sql}"
                ).fetchnumpy()
            )
        finally:
            self._connection.unregister("arrived")


def _names(query: Query) -> list[str]:
    return [item.expression.name for item in query.items if isinstance(item.expression, Reference)]


def _is_listing(query: Query) -> bool:
    """Whether the query only lists released columns, so that there is nothing to compute."""
    if query.having is not None or query.order or query.limit is not None or query.offset is not None:
        return False
    return len(_names(query)) == len(query.items)


def statement(query: Query, half_widths: HalfWidths) -> str:
    """The outer query over ``released``: columns i1.. are the items, i1_1up.. with one noise moved."""
    render = Renderer(lambda column: quote(column.name))
    shown = []
    for number, item in enumerate(query.items, start=1):
        value = render(item.expression)
        if item.expression.type is Type.INTEGER:
            value = f"TRY_CAST({value} AS BIGINT)"
        shown.append(f"{value} AS i{number}")
        for suffix, expression in moved(item.expression, half_widths):
            shown.append(f"CAST({render(expression)} AS DOUBLE) AS i{number}_{suffix}")
    parts = [f"SELECT {', '.join(shown)}", "FROM released"]
    if query.having is not None:
        parts.append(f"WHERE {render(query.having)}")
    # A constant orders nothing, and the engine would read a whole number as the place of a column.
    terms = [_term(o, render) for o in query.order if not isinstance(o.expression, Literal)]
    parts.append(f"ORDER BY {', '.join([*terms, ORDER])}")
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    if query.offset is not None:
        parts.append(f"OFFSET {query.offset}")
    return "\n".join(parts)


def _term(ordering: Ordering, render: Renderer) -> str:
    direction = "DESC" if ordering.descending else "ASC"
    return f"{render(ordering.expression)} {direction} NULLS {'FIRST' if ordering.nulls_first else 'LAST'}"


def _release(
    items: tuple[Item, ...], half_widths: HalfWidths, fetched: Mapping[str, NDArray[Any]]
) -> Release:
    shown, values = [], []
    for number, item in enumerate(items, start=1):
        value = fetched[f"i{number}"]
        moves = {
            name.partition("_")[2]: array for name, array in fetched.items() if name.startswith(f"i{number}_")
        }
        widths = combined(item.expression, half_widths, value, moves)
        values.append(python_values(value, item.expression.type))
        shown.append(_column(item, half_widths, widths))
    return Release(tuple(shown), list(zip(*values, strict=True)))


def _column(item: Item, half_widths: HalfWidths, widths: tuple[float, ...]) -> Column:
    exact = not noisy(item.expression, half_widths)
    plain = half_widths.get(item.expression.name) if isinstance(item.expression, Reference) else None
    return Column(item.name, item.expression.type, max(widths, default=plain), exact, widths)
