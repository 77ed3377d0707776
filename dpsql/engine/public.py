"""What is public, pinned: copies of the public tables, empty shells of the private ones.

This database holds no row of a person. Plans evaluate public expressions here, programs are bound here
before they are charged, and queries over public tables are answered here.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from dpsql import errors
from dpsql.engine.interrupt import interruptible
from dpsql.engine.postprocess import SETTINGS
from dpsql.engine.release import Relation
from dpsql.engine.render import SQL_TYPES, Renderer, quote
from dpsql.engine.rewrite import Program
from dpsql.errors import EngineFailure, InternalError, UnsupportedQuery
from dpsql.policy.model import Policy, TablePolicy
from dpsql.sql.expression import (
    Aggregate,
    AggregateKind,
    Column,
    Expression,
    Type,
    Value,
    aggregates,
    columns,
)
from dpsql.sql.expression import rewrite as replaced
from dpsql.sql.relation import Item, JoinKind, Ordering, Query, Scan
from dpsql.sql.resolve import over_keys
from dpsql.sql.scope import TYPES

TIME_LIMIT: Final = 30_000
MEMORY_LIMIT: Final = "4GB"
MAX_PUBLIC_ROWS: Final = 1_000_000
MAX_BOUND: Final = 1_000
"""So many programs are remembered to bind; the tables of a session do not change."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What the catalog enforces for one table."""

    unique: frozenset[str]
    not_null: frozenset[str]


class PublicFacts:
    """The facts of one session; implements `dpsql.analysis.facts.Facts`."""

    def __init__(
        self,
        policy: Policy,
        tables: Mapping[str, TableFacts],
        public: Mapping[str, Mapping[str, NDArray[Any]]],
    ) -> None:
        self._policy = policy
        self._tables = tables
        self._lock = threading.Lock()
        self._connection = duckdb.connect(":memory:", config=SETTINGS)
        for table in policy.tables.values():
            self._create(table, public.get(table.name))
        self._binder = self._connection.cursor()
        # A program is bound here, never run: optimizing it would only take time.
        self._binder.execute("PRAGMA disable_optimizer")
        self._connection.execute(f"SET max_execution_time={TIME_LIMIT}")
        self._connection.execute(f"SET memory_limit='{MEMORY_LIMIT}'")
        self._connection.execute("SET lock_configuration=true")
        self._bound: set[str] = set()
        self._domains: dict[object, tuple[Value, ...]] = {}
        self._digest = self._hash()

    def _create(self, table: TablePolicy, rows: Mapping[str, NDArray[Any]] | None) -> None:
        declared = ", ".join(f"{quote(c.name)} {SQL_TYPES[TYPES[c.type]]}" for c in table.columns.values())
        self._connection.execute(f"CREATE TABLE {quote(table.name)} ({declared})").fetchall()
        if rows is not None:
            self._connection.register("_arrived", dict(rows))
            listed = ", ".join(quote(column.name) for column in table.columns.values())
            self._connection.execute(
                f"INSERT INTO {quote(table.name)} SELECT {listed} FROM _arrived"
            ).fetchall()
            self._connection.unregister("_arrived")

    def _hash(self) -> str:
        facts = {
            name: [sorted(found.unique), sorted(found.not_null)]
            for name, found in sorted(self._tables.items())
        }
        digest = hashlib.sha256(json.dumps(facts).encode())
        for table in self._policy.tables.values():
            if table.public:
                for row in self._connection.execute(
                    f"SELECT * FROM {quote(table.name)} ORDER BY ALL"
                ).fetchall():
                    digest.update(repr(row).encode())
        return digest.hexdigest()

    @property
    def digest(self) -> str:
        """SHA-256 over the constraints and the public rows."""
        return self._digest

    def close(self) -> None:
        """Drop everything."""
        self._binder.close()
        self._connection.close()

    def never_null(self, table: str, column: str) -> bool:
        """Whether the database enforces NOT NULL on the column."""
        return column.lower() in self._tables[table].not_null

    def unique(self, table: str, column: str) -> bool:
        """Whether the database enforces that the column is unique and not NULL."""
        return column.lower() in self._tables[table].unique & self._tables[table].not_null

    def multiplicity(self, table: str, columns: tuple[str, ...]) -> int:
        """The most rows of a public table that agree on the columns; at least 1."""
        keys = ", ".join(quote(column) for column in columns)
        grouped = f"SELECT COUNT(*) AS n FROM {quote(table)} GROUP BY {keys}"
        key = ("multiplicity", table, columns)
        return int(str(self._remembered(key, f"SELECT COALESCE(MAX(n), 1) FROM ({grouped})", {})[0]))

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """The distinct values of a public table's column, sorted, without NULL."""
        name = quote(column)
        sql = f"SELECT DISTINCT {name} FROM {quote(table)} WHERE {name} IS NOT NULL ORDER BY 1"
        return self._remembered(("values", table, column), sql, {})

    def values(
        self, expression: Expression, domains: tuple[tuple[Column, tuple[Value, ...]], ...]
    ) -> tuple[Value, ...]:
        """The distinct values, sorted and NULL last, of an expression over its columns' domains."""
        places = {(c.source, c.name): number for number, (c, _) in enumerate(domains, start=1)}
        render = Renderer(lambda column: f"x{places[column.source, column.name]}")
        sources = ", ".join(
            f"(SELECT unnest($d{number}::{SQL_TYPES[column.type]}[]) AS x{number})"
            for number, (column, _) in enumerate(domains, start=1)
        )
        origin = f" FROM {sources}" if domains else ""
        sql = f"SELECT DISTINCT {render.key(expression)} AS v{origin} ORDER BY v NULLS LAST"
        parameters = {f"d{number}": list(known) for number, (_, known) in enumerate(domains, start=1)}
        return self._remembered((expression, domains), sql, parameters)

    def _remembered(self, key: object, sql: str, parameters: dict[str, list[Value]]) -> tuple[Value, ...]:
        with self._lock:
            if key not in self._domains:
                try:
                    found = self._connection.execute(sql, parameters).fetchall()
                except duckdb.Error:
                    raise EngineFailure(
                        errors.ENGINE_FAILURE, "A public expression could not be evaluated."
                    ) from None
                self._domains[key] = tuple(row[0] for row in found)
            return self._domains[key]

    def check(self, program: Program) -> None:
        """Bind a program against empty tables of the same names and types.

        Raises:
            InternalError: when it does not bind; nothing has been charged.
        """
        with self._lock:
            if program.sql in self._bound:
                return
            try:
                self._binder.execute(f"PREPARE bound AS {program.sql}").fetchall()
                self._binder.execute("DEALLOCATE bound").fetchall()
            except duckdb.Error:
                raise InternalError(
                    errors.REWRITE, "The rewritten query does not bind; nothing was charged."
                ) from None
            if len(self._bound) < MAX_BOUND:
                self._bound.add(program.sql)

    def select(self, query: Query) -> tuple[Query, Relation]:
        """The rows or groups of a query over public tables, and what is left to do with them.

        Raises:
            EngineFailure: when it fails or takes too long.
        """
        outer, sql, types = _split(query)
        if not types:
            return outer, Relation({"one": Type.INTEGER}, {"one": np.zeros(1, dtype=np.int64)})
        with self._lock:
            try:
                with interruptible():
                    fetched = dict(self._connection.execute(sql).fetchnumpy())
            except duckdb.Error:
                raise EngineFailure(
                    errors.ENGINE_FAILURE, "The query over public tables failed, or took too long."
                ) from None
        if any(len(array) > MAX_PUBLIC_ROWS for array in fetched.values()):
            raise UnsupportedQuery(
                errors.TOO_LARGE,
                f"The query over public tables has more than {MAX_PUBLIC_ROWS:,} rows or groups.",
                hint="Give it a WHERE, or LIMIT without ORDER BY.",
            )
        return outer, Relation(types, fetched)


def public_sql(query: Query) -> str:
    """The statement that reads the public tables of a query."""
    return _split(query)[1]


def _split(query: Query) -> tuple[Query, str, dict[str, Type]]:
    """A public query as one SELECT of columns k1.. (and aggregates a1..), and the outer query over them."""
    expressions = [
        *(item.expression for item in query.items),
        *(term.expression for term in query.order),
        *([query.having] if query.having is not None else []),
    ]
    plain = [column for e in expressions for column in columns(e)]
    keys: tuple[Expression, ...] = query.keys if query.grouped else tuple(dict.fromkeys(plain))
    measured = tuple(dict.fromkeys(a for e in expressions for a in aggregates(e)))

    def outer(expression: Expression) -> Expression:
        def answer(part: Expression) -> Expression | None:
            if isinstance(part, Aggregate):
                return Column("released", f"a{measured.index(part) + 1}", part.type)
            return None

        return replaced(over_keys(expression, keys, "released"), answer)

    above = replace(
        query,
        items=tuple(Item(item.name, outer(item.expression)) for item in query.items),
        having=None if query.having is None else outer(query.having),
        order=tuple(Ordering(outer(o.expression), o.descending, o.nulls_first) for o in query.order),
    )
    types = {f"k{number}": key.type for number, key in enumerate(keys, start=1)}
    types |= {f"a{number}": aggregate.type for number, aggregate in enumerate(measured, start=1)}
    return above, _inner(query, keys, measured), types


def _inner(query: Query, keys: tuple[Expression, ...], measured: tuple[Aggregate, ...]) -> str:
    render = Renderer(_name)
    shown = [f"{render(key)} AS k{number}" for number, key in enumerate(keys, start=1)]
    shown += [f"{_exact(a, render)} AS a{number}" for number, a in enumerate(measured, start=1)]
    sql = f"SELECT {', '.join(shown) or '1'}"
    if query.base is not None:
        sql += f" FROM {_source(query.base)}"
    for join in query.joins:
        word = "LEFT JOIN" if join.kind is JoinKind.LEFT else "JOIN"
        on = " AND ".join(f"{_name(mine)} = {_name(theirs)}" for mine, theirs in join.equalities)
        sql += f" {word} {_source(join.scan)} ON {on}"
    if query.where is not None:
        sql += f" WHERE {render(query.where)}"
    if query.grouped and keys:
        sql += f" GROUP BY {', '.join(f'k{number}' for number in range(1, len(keys) + 1))}"
    return f"{sql} ORDER BY ALL LIMIT {_enough(query)}"


def _enough(query: Query) -> int:
    """As many rows as the outer query can need; one more than is allowed shows that there are too many."""
    if query.having is not None or query.order or query.limit is None:
        return MAX_PUBLIC_ROWS + 1
    return min(MAX_PUBLIC_ROWS + 1, query.limit + (query.offset or 0))


def _name(column: Column) -> str:
    return f"{quote(column.source)}.{quote(column.name)}"


def _source(scan: Scan) -> str:
    return f"{quote(scan.table)} {quote(scan.alias)}"


def _exact(aggregate: Aggregate, render: Renderer) -> str:
    argument = "*" if aggregate.argument is None else render(aggregate.argument)
    if aggregate.kind in (AggregateKind.SUM, AggregateKind.AVG) and aggregate.type is Type.DOUBLE:
        argument = f"CAST({argument} AS DOUBLE)"
    call = {
        AggregateKind.COUNT_ROWS: "COUNT(*)",
        AggregateKind.COUNT: f"COUNT({argument})",
        AggregateKind.COUNT_DISTINCT: f"COUNT(DISTINCT {argument})",
        AggregateKind.SUM: f"SUM({argument})",
        AggregateKind.AVG: f"AVG({argument})",
    }[aggregate.kind]
    if aggregate.where is not None:
        call += f" FILTER (WHERE {render(aggregate.where)})"
    return f"TRY_CAST({call} AS BIGINT)" if aggregate.type is Type.INTEGER else call
