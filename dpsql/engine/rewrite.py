"""Which SQL computes the exact bounded answer of a plan?

The statement has the order in which a unit's contribution is bounded: owners and constants at the scan,
the query's own rows, groups outside the public domain dropped, groups capped by a keyed hash, then one
weight per unit. Every shape gives the same integers. docs/proofs/rewrite.md proves the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.analysis.aggregates import Grid, Measure, MeasureKind
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.bounds import Interval
from dpsql.analysis.partitions import Key
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.domain import bits, inside, relation
from dpsql.engine.owner import UNIT_COLUMN, owned_rows
from dpsql.engine.render import Renderer, clip, double, quote
from dpsql.plan.plan import Plan
from dpsql.policy.model import Policy
from dpsql.sql.expression import Column, Expression, Type, Value, columns
from dpsql.sql.relation import JoinKind, Query, Scan

SEPARATOR = "chr(31)"
MASK_VALUES = 62


_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_PARAMETER: Final = re.compile(r"\$(cap_key|d\d+)\b")


@dataclass(frozen=True, slots=True)
class Program:
    """The statement that computes a plan's exact cells, and how its noisy cells are read.

    ``sql`` gives one row per group, ordered by key, with columns k1.. and c1..; it names its parameters
    ($cap_key and $d1.., the public values of the keys). ``released`` are the expressions over a cell plus
    its noise that leave the database.
    """

    sql: str
    parameters: Mapping[str, tuple[Value, ...]]
    keys: tuple[Key, ...]
    released: tuple[tuple[str, str, Type], ...]
    threshold: str | None

    def arguments(self, cap_key: str) -> dict[str, object]:
        """The values of the parameters that the text names."""
        known: dict[str, object] = {name: list(values) for name, values in self.parameters.items()}
        known["cap_key"] = cap_key
        named = set(_PARAMETER.findall(_QUOTED.sub("", self.sql)))
        return {name: value for name, value in known.items() if name in named}


def rewrite(plan: Plan, policy: Policy) -> Program:
    """The program of a plan.

    Raises:
        UnsupportedQuery: when an expression's arithmetic could overflow.
    """
    analysis = plan.analysis
    writer = _Writer(plan, policy)
    parameters = {
        f"d{number}": key.domain
        for number, key in enumerate(analysis.partitioning.keys, start=1)
        if key.domain is not None
    }
    threshold = None
    if plan.threshold is not None and analysis.threshold is not None:
        threshold = f"c{analysis.threshold + 1} + z{analysis.threshold + 1} >= {plan.threshold}"
    released = tuple(
        _released(number, part.measure, part.noise.lattice)
        for number, part in enumerate(plan.measurements, start=1)
    )
    return Program(writer.statement(), parameters, analysis.partitioning.keys, released, threshold)


def _released(number: int, measure: Measure, lattice: int) -> tuple[str, str, Type]:
    """(name, SQL, type) of a noisy cell: to the nearest grid step, in the answer's unit."""
    steps = f"FLOOR(CAST(c{number} + z{number} AS DOUBLE) * {double(Fraction(lattice, UNIT))} + 0.5e0)"
    grid = measure.grid
    if grid is None or grid.integer:
        # Far outside every honest answer, where a whole number would not fit.
        largest = double(Fraction(2**62))
        bounded = f"LEAST(GREATEST({steps}, -{largest}), {largest})"
        return f"m{number}", f"CAST({bounded} AS BIGINT)", Type.INTEGER
    per_unit = 1 / grid.step
    value = f"{steps} / {double(per_unit)}" if per_unit.denominator == 1 else f"{steps} * {double(grid.step)}"
    return f"m{number}", value, Type.DOUBLE


class _Writer:
    """Writes the statement of one plan, clause by clause in the order of bounding."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        self._plan = plan
        self._analysis: Analysis = plan.analysis
        self._policy = policy
        self._query: Query = plan.analysis.query
        self._measures = plan.analysis.measures
        self._keys = [key.name for key in plan.analysis.partitioning.keys]
        self._public = plan.analysis.partitioning.public
        raw = Renderer(self._name)
        self._raw = raw
        self._clipped = Renderer(self._name, self._bounds())

    def statement(self) -> str:
        parts = [("rows", "NOT MATERIALIZED", self._rows()), *self._cells()]
        clauses = ",\n".join(f"{name} AS {hint} (\n{body}\n)" for name, hint, body in parts)
        return f"WITH {clauses}\n{self._result()}"

    # --- the scan -----------------------------------------------------------------------------------

    def _name(self, column: Column) -> str:
        return f"{quote(column.source)}.{quote(column.name)}"

    def _bounds(self) -> dict[tuple[str, str], Interval]:
        found = {}
        for scan in self._query.scans:
            for column in self._policy.tables[scan.table].columns.values():
                if column.type in ("integer", "double", "decimal") and column.bounds is not None:
                    low, high = column.bounds
                    found[scan.alias, column.name] = Interval(Fraction(low), Fraction(high))  # type: ignore[arg-type]
        return found

    def _used(self, alias: str) -> list[str]:
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
        owned = owned_rows(self._analysis, self._policy, self._used(scan.alias))
        return f"({owned}) {quote(scan.alias)}"

    # --- the query's rows ---------------------------------------------------------------------------

    def _key(self, key: Key) -> str:
        # A column's own public values fit its type, and other rows are dropped.
        listed = key.domain is not None and isinstance(key.expression, Column)
        return self._raw(key.expression) if listed else self._raw.key(key.expression)

    def _rows(self) -> str:
        """One row per joined row: its unit, its keys, and what each measure adds for it."""
        shown = [f"{quote(self._analysis.owner.scan.alias)}.{UNIT_COLUMN} AS unit"]
        shown += [f"{self._key(key)} AS {key.name}" for key in self._analysis.partitioning.keys]
        for number, measure in enumerate(self._measures, start=1):
            value = self._value(measure)
            if value is not None:
                shown.append(f"{value} AS v{number}")
            if measure.limit is not None:
                shown.append(f"ABS({self._index(measure)}) AS a{number}")
        conditions = [] if self._query.where is None else [self._raw(self._query.where)]
        body = f"  SELECT {', '.join(shown)}\n  FROM {self._from()}"
        if conditions:
            body += f"\n  WHERE {' AND '.join(conditions)}"
        numbered = enumerate(self._analysis.partitioning.keys, start=1)
        kept = [condition for number, key in numbered if (condition := inside(number, key)) is not None]
        if not kept:
            return body
        return f"  SELECT * FROM (\n{body}\n  ) WHERE {' AND '.join(kept)}"

    def _from(self) -> str:
        base = self._query.base
        if base is None:
            raise TypeError("a measured query reads a table")
        parts = [self._source(base)]
        for join in self._query.joins:
            word = "LEFT JOIN" if join.kind is JoinKind.LEFT else "JOIN"
            on = " AND ".join(
                f"{self._name(mine)} = {self._name(theirs)}" for mine, theirs in join.equalities
            )
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

    # --- groups and weights -------------------------------------------------------------------------

    def _cells(self) -> list[tuple[str, str, str]]:
        """The steps from rows to one row of exact cells per group that has any."""
        analysis = self._analysis
        units = [n for n, m in enumerate(self._measures, start=1) if m.kind is MeasureKind.UNITS]
        if not analysis.weighted:
            return [("cells", "", self._direct())]
        if analysis.partitioning.constant:
            return [("per_unit", "", self._per_unit()), ("cells", "", self._from_units())]
        if not self._public:
            return [
                *self._capped_groups(),
                ("weights", "", self._weights("capped")),
                ("cells", "", self._from_groups()),
            ]
        return [*self._weighted(units), *self._unit_counts(units)]

    def _direct(self) -> str:
        """One row a unit is certain: every weight is 1."""
        cells = []
        for number, measure in enumerate(self._measures, start=1):
            counted = "COUNT(*)" if self._value(measure) is None else f"COUNT(v{number})"
            total = f"SUM(v{number})" if measure.kind is MeasureKind.SUM else counted
            cells.append(f"{total} * {UNIT} AS c{number}")
        return self._grouped(cells, "rows")

    def _per_unit(self) -> str:
        """Every key has one value per unit, so a unit's group holds all its rows."""
        shown = ["unit", *self._keys, *self._sums(), f"{self._weight('COUNT(*)', 'SUM')} AS w"]
        return f"  SELECT {', '.join(shown)} FROM rows GROUP BY {', '.join(['unit', *self._keys])}"

    def _from_units(self) -> str:
        return self._grouped([self._weighed(n, m) for n, m in enumerate(self._measures, start=1)], "per_unit")

    def _capped_groups(self) -> list[tuple[str, str, str]]:
        keys = ", ".join(["unit", *self._keys])
        groups = f"  SELECT {', '.join([keys, *self._sums()])} FROM rows GROUP BY {keys}"
        return [("groups", "", groups), ("capped", "MATERIALIZED", self._cap("groups"))]

    def _cap(self, source: str) -> str:
        """At most `touched` groups of each unit, chosen by a keyed hash of the unit's own groups."""
        parts = ["$cap_key", "CAST(unit AS VARCHAR)"]
        parts += [f"COALESCE('v' || CAST({key} AS VARCHAR), 'n')" for key in self._keys]
        drawn = f"MD5(CONCAT({f', {SEPARATOR}, '.join(parts)}))"
        order = ", ".join([drawn, *self._keys])
        most = self._analysis.partitioning.touched
        rank = f"ROW_NUMBER() OVER (PARTITION BY unit ORDER BY {order})"
        return f"  SELECT * FROM {source}\n  QUALIFY {rank} <= {most}"

    def _weights(self, source: str) -> str:
        return f"  SELECT unit, {self._weight('SUM(n)', 'SUM')} AS w FROM {source} GROUP BY unit"

    def _from_groups(self) -> str:
        cells = [self._weighed(number, measure) for number, measure in enumerate(self._measures, start=1)]
        return self._grouped(cells, "capped JOIN weights USING (unit)")

    def _weighted(self, units: list[int]) -> list[tuple[str, str, str]]:
        """Rows and sums of public groups: one weight per unit, joined onto rows or onto (unit, key) sums."""
        numbers = [n for n in range(1, len(self._measures) + 1) if n not in units]
        if not numbers:
            return []
        if self._pre_aggregated():
            keys = ", ".join(["unit", *self._keys])
            groups = f"  SELECT {', '.join([keys, *self._sums()])} FROM rows GROUP BY {keys}"
            cells = [self._weighed(number, self._measures[number - 1]) for number in numbers]
            return [
                ("groups", "MATERIALIZED", groups),
                ("weights", "", self._weights("groups")),
                ("weighted", "", self._grouped(cells, "groups JOIN weights USING (unit)")),
            ]
        weights = f"  SELECT unit, {self._weight('COUNT(*)', 'SUM')} AS w FROM rows GROUP BY unit"
        cells = [self._row_sum(number, self._measures[number - 1]) for number in numbers]
        return [
            ("weights", "", weights),
            ("weighted", "", self._grouped(cells, "rows JOIN weights USING (unit)")),
        ]

    def _pre_aggregated(self) -> bool:
        """Through joins the rows would be computed twice, so they are summed per (unit, key) first."""
        owner = self._analysis.owner
        joined = bool(self._query.joins) or bool(owner.path)
        return joined or any(name in owner.constants for name in self._used(owner.scan.alias))

    def _row_sum(self, number: int, measure: Measure) -> str:
        if measure.kind is MeasureKind.SUM:
            return f"SUM(v{number} * w) AS c{number}"
        counted = "w" if measure.where is None else f"CASE WHEN v{number} IS NOT NULL THEN w END"
        return f"SUM({counted}) AS c{number}"

    def _unit_counts(self, units: list[int]) -> list[tuple[str, str, str]]:
        """Units per public group: of each unit at most `touched` groups count."""
        if not units:
            return []
        if self._masked(units):
            return self._masks(units[0])
        marks = [f"COUNT(v{n}) AS s{n}" for n in units if self._measures[n - 1].where is not None]
        keys = ", ".join(["unit", *self._keys])
        pairs = f"  SELECT {', '.join([keys, *marks])} FROM rows GROUP BY {keys}"
        source = "pairs"
        steps = [("pairs", "", pairs)]
        if self._analysis.partitioning.touched < (self._analysis.partitioning.cells or 0):
            steps.append(("capped", "", self._cap("pairs")))
            source = "capped"
        cells = [self._unit_count(number) for number in units]
        return [*steps, ("counted", "", self._grouped(cells, source))]

    def _unit_count(self, number: int) -> str:
        counted = "*" if self._measures[number - 1].where is None else f"CASE WHEN s{number} > 0 THEN 1 END"
        return f"COUNT({counted}) * {UNIT} AS c{number}"

    def _masked(self, units: list[int]) -> bool:
        """One bit a group in a 62-bit mask per unit, where it suffices: the fastest shape."""
        key = self._analysis.partitioning.keys[0] if len(self._keys) == 1 else None
        if key is None or key.domain is None or None in key.domain or len(key.domain) > MASK_VALUES:
            return False
        return len(units) == 1 and self._measures[units[0] - 1].where is None

    def _masks(self, number: int) -> list[tuple[str, str, str]]:
        key = self._analysis.partitioning.keys[0]
        masks = "  SELECT unit, BIT_OR(bit) AS mask FROM rows JOIN bits USING (k1) GROUP BY unit"
        light = f"SELECT mask, COUNT(*) AS n FROM masks WHERE BIT_COUNT(mask) <= {self._most} GROUP BY mask"
        heavy = (
            f"SELECT unit, k1 FROM masks JOIN bits ON mask & bit <> 0 WHERE BIT_COUNT(mask) > {self._most}"
        )
        cells = (
            f"  SELECT k1, SUM(n) * {UNIT} AS c{number} FROM (\n"
            f"    SELECT k1, n FROM ({light}) JOIN bits ON mask & bit <> 0\n"
            f"    UNION ALL SELECT k1, 1 FROM capped\n  ) GROUP BY k1"
        )
        return [
            ("bits", "MATERIALIZED", f"  {bits(1, key)}"),
            ("masks", "MATERIALIZED", masks),
            ("heavy", "", f"  {heavy}"),
            ("capped", "", self._cap("heavy")),
            ("counted", "", cells),
        ]

    @property
    def _most(self) -> int:
        return self._analysis.partitioning.touched

    # --- sums ---------------------------------------------------------------------------------------

    def _sums(self) -> list[str]:
        """Per (unit, key): the rows n, and for each measure the sum or count s of what its rows add."""
        sums = ["COUNT(*) AS n"]
        for number, measure in enumerate(self._measures, start=1):
            if measure.kind is MeasureKind.SUM:
                sums.append(f"SUM(v{number}) AS s{number}")
            elif measure.where is not None:
                sums.append(f"COUNT(v{number}) AS s{number}")
            if measure.limit is not None:
                sums.append(f"SUM(a{number}) AS a{number}")
        return sums

    def _weighed(self, number: int, measure: Measure) -> str:
        if measure.kind is MeasureKind.UNITS:
            return self._unit_count(number)
        value = "n" if measure.kind is MeasureKind.ROWS and measure.where is None else f"s{number}"
        return f"SUM({value} * w) AS c{number}"

    def _weight(self, rows: str, add: str) -> str:
        """floor(1024 min(1, R / rows, M / sum of absolute values)), in integers."""
        parts = [_share(rows, self._analysis.rows.bound)]
        for number, measure in enumerate(self._measures, start=1):
            if measure.limit is not None:
                parts.append(_share(f"COALESCE({add}(a{number}), 0)", measure.limit))
        return parts[0] if len(parts) == 1 else f"LEAST({', '.join(parts)})"

    def _grouped(self, cells: list[str], source: str) -> str:
        shown = ", ".join([*self._keys, *cells])
        group = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        return f"  SELECT {shown} FROM {source}{group}"

    # --- the result ---------------------------------------------------------------------------------

    def _result(self) -> str:
        cells = ", ".join(self._cell(number) for number in range(1, len(self._measures) + 1))
        names = [name for name in ("cells", "weighted", "counted") if self._made(name)]
        if not self._public:
            order = ", ".join(f"{key} NULLS LAST" for key in self._keys)
            return f"SELECT {', '.join(self._keys)}, {cells}\nFROM cells{self._minimum()}\nORDER BY {order}"
        if not self._keys:
            return f"SELECT {cells}\nFROM {', '.join(names)}"
        domains = ", ".join(
            relation(number, key) for number, key in enumerate(self._analysis.partitioning.keys, start=1)
        )
        joins = "".join(
            f"\nLEFT JOIN {name} ON "
            + " AND ".join(f"{name}.{key} IS NOT DISTINCT FROM d.{key}" for key in self._keys)
            for name in names
        )
        shown = ", ".join(f"d.{key}" for key in self._keys)
        order = ", ".join(f"d.{key} NULLS LAST" for key in self._keys)
        return f"SELECT {shown}, {cells}\nFROM (SELECT * FROM {domains}) d{joins}\nORDER BY {order}"

    def _made(self, name: str) -> bool:
        units = [m.kind is MeasureKind.UNITS for m in self._measures]
        split = self._public and self._analysis.weighted and not self._analysis.partitioning.constant
        if name == "cells":
            return not split
        return split and (not all(units) if name == "weighted" else any(units))

    def _cell(self, number: int) -> str:
        """A cell on the noise lattice; a group without rows has 0."""
        lattice = self._plan.measurements[number - 1].noise.lattice
        value = f"CAST(COALESCE(c{number}, 0) AS HUGEINT)"
        return f"{value} AS c{number}" if lattice == 1 else f"{value} // {lattice} AS c{number}"

    def _minimum(self) -> str:
        """Groups below `min_group_units` are dropped before noise; the threshold covers it."""
        least = self._analysis.min_group_units
        if least <= 1 or self._analysis.threshold is None:
            return ""
        return f"\nWHERE c{self._analysis.threshold + 1} >= {least * UNIT}"


def _share(total: str, most: int) -> str:
    # An integer division truncates toward zero, and both sides are positive.
    return f"CASE WHEN {total} <= {most} THEN {UNIT} ELSE CAST({UNIT * most} // {total} AS INTEGER) END"


def _on_grid(value: str, grid: Grid) -> str:
    # Times a weight of at most 1024 an index fits its type: 31 bits where it can, since they add faster.
    reach = max(abs(grid.lower), abs(grid.upper)) + abs(grid.origin)
    kind = "INTEGER" if grid.integer and reach * UNIT < 2**31 else "BIGINT"
    index = f"CAST({value} AS {kind})" if grid.integer else _floored(value, grid)
    return index if grid.origin == 0 else f"({index} - ({grid.origin}))"


def _floored(value: str, grid: Grid) -> str:
    return f"CAST(FLOOR(({value}) * {double(grid.scale)} + 0.5e0) AS BIGINT)"
