"""Which rows does a query sum, and what does each add?

One row per joined row: its unit, its keys k1.., and for each measure the value v1.. that it adds before its
weight (NULL adds nothing) and, under a `max_sum`, the absolute value a1.. that counts against it. Rows whose
key is not among a public key's values are dropped here, before anything is counted.
"""

from __future__ import annotations

from fractions import Fraction

from dpsql.analysis.aggregates import Grid, Measure, MeasureKind
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.bounds import Interval
from dpsql.analysis.partitions import Key
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.clause import Clause
from dpsql.engine.domain import inside
from dpsql.engine.owner import UNIT_COLUMN, owned_rows
from dpsql.engine.render import Renderer, clip, double, quote
from dpsql.policy.model import Policy
from dpsql.sql.expression import Column, Expression, columns
from dpsql.sql.relation import JoinKind, Scan


class RowWriter:
    """Writes the clauses of an analysed query's rows."""

    def __init__(self, analysis: Analysis, policy: Policy) -> None:
        self._analysis = analysis
        self._policy = policy
        self._query = analysis.query
        self._measures = analysis.measures
        self._raw = Renderer(_name)
        self._clipped = Renderer(_name, self._bounds())

    def _bounds(self) -> dict[tuple[str, str], Interval]:
        found = {}
        for scan in self._query.scans:
            for column in self._policy.tables[scan.table].columns.values():
                if column.number_bounds is not None:
                    low, high = column.number_bounds
                    found[scan.alias, column.name] = Interval(Fraction(low), Fraction(high))
        return found

    def used(self, alias: str) -> list[str]:
        """The columns of a source that the query mentions, each once."""
        expressions: list[Expression] = [key.expression for key in self._analysis.partitioning.keys]
        expressions += [e for m in self._measures for e in (m.argument, m.where) if e is not None]
        expressions += [self._query.where] if self._query.where is not None else []
        named = [c.name for e in expressions for c in columns(e) if c.source == alias]
        named += [
            c.name for j in self._query.joins for pair in j.equalities for c in pair if c.source == alias
        ]
        return list(dict.fromkeys(named))

    def _source(self, scan: Scan) -> str:
        if scan.public:
            return f"{quote(scan.table)} {quote(scan.alias)}"
        owned = owned_rows(self._analysis, self._policy, self.used(scan.alias))
        return f"({owned}) {quote(scan.alias)}"

    def _key(self, key: Key) -> str:
        # A column's own public values fit its type, and other rows are dropped.
        listed = key.domain is not None and isinstance(key.expression, Column)
        return self._raw(key.expression) if listed else self._raw.key(key.expression)

    def _select(self) -> str:
        shown = [f"{quote(self._analysis.owner.scan.alias)}.{UNIT_COLUMN} AS unit"]
        shown += [f"{self._key(key)} AS {key.name}" for key in self._analysis.partitioning.keys]
        for number, measure in enumerate(self._measures, start=1):
            value = self._value(measure)
            if value is not None:
                shown.append(f"{value} AS v{number}")
            if measure.limit is not None:
                shown.append(f"ABS({self._index(measure)}) AS a{number}")
        where = "" if self._query.where is None else f"\n  WHERE {self._raw(self._query.where)}"
        return f"  SELECT {', '.join(shown)}\n  FROM {self._from()}{where}"

    def clauses(self) -> list[Clause]:
        """The clause ``rows``, and before it ``joined`` where rows of other groups have to be dropped."""
        numbered = enumerate(self._analysis.partitioning.keys, start=1)
        kept = [condition for number, key in numbered if (condition := inside(number, key)) is not None]
        if not kept:
            return [Clause("_rows", self._select(), "NOT MATERIALIZED")]
        dropped = f"  SELECT * FROM _joined WHERE {' AND '.join(kept)}"
        return [
            Clause("_joined", self._select(), "NOT MATERIALIZED"),
            Clause("_rows", dropped, "NOT MATERIALIZED"),
        ]

    def _from(self) -> str:
        base = self._query.base
        if base is None:
            raise TypeError("a measured query reads a table")
        parts = [self._source(base)]
        for join in self._query.joins:
            word = "LEFT JOIN" if join.kind is JoinKind.LEFT else "JOIN"
            on = " AND ".join(f"{_name(mine)} = {_name(theirs)}" for mine, theirs in join.equalities)
            parts.append(f"{word} {self._source(join.scan)} ON {on}")
        return "\n    ".join(parts)

    def _value(self, measure: Measure) -> str | None:
        """What a row adds to a measure before its weight; NULL adds nothing."""
        where = None if measure.where is None else self._raw(measure.where)
        if measure.kind is not MeasureKind.SUM:
            return None if where is None else f"CASE WHEN {where} THEN 1 END"
        index = self._index(measure)
        return index if where is None else f"CASE WHEN {where} THEN {index} END"

    def _index(self, measure: Measure) -> str:
        """The grid index of a summed value, clipped; exact and within 52 bits."""
        grid, argument = measure.grid, measure.argument
        if grid is None or argument is None:
            raise TypeError("a sum has a grid and an argument")
        value = self._clipped(argument)
        if not isinstance(argument, Column):
            value = clip(f"({value})", Interval(grid.lower, grid.upper), integer=grid.integer)
        return _on_grid(value, grid)


def _name(column: Column) -> str:
    return f"{quote(column.source)}.{quote(column.name)}"


def _on_grid(value: str, grid: Grid) -> str:
    # Times a weight of at most 1024 an index fits its type: 31 bits where it can, since they add faster.
    reach = max(abs(grid.lower), abs(grid.upper)) + abs(grid.origin)
    kind = "INTEGER" if grid.integer and reach * UNIT < 2**31 else "BIGINT"
    index = f"CAST({value} AS {kind})" if grid.integer else _floored(value, grid)
    return index if grid.origin == 0 else f"({index} - ({grid.origin}))"


def _floored(value: str, grid: Grid) -> str:
    return f"CAST(FLOOR(({value}) * {double(grid.scale)} + 0.5e0) AS BIGINT)"
