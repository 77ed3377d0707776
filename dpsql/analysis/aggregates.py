"""Of which noisy sums does an aggregate consist?

| aggregate | measures | answer |
|---|---|---|
| COUNT(*) | rows | rows |
| COUNT(x) | rows where x is not NULL | rows |
| COUNT(DISTINCT unit) | units | units |
| SUM(x) | sum of clip(x) | sum |
| AVG(x) | sum of clip(x) - middle; rows where x is not NULL | middle + sum / max(1, rows) |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Final

from dpsql import errors
from dpsql.analysis.bounds import LARGEST, Interval, interval
from dpsql.analysis.facts import Facts
from dpsql.errors import PolicyRefused, UnsupportedQuery
from dpsql.policy.model import ColumnPolicy, Policy
from dpsql.sql.expression import (
    Aggregate,
    AggregateKind,
    Call,
    Column,
    Expression,
    Literal,
    Type,
    columns,
    conjunction,
)
from dpsql.sql.relation import Query

GRID_BITS: Final = 20
"""Where the policy gives no step, the grid has 2^20 steps to the largest absolute bound."""

MAX_INDEX: Final = 2**52
"""Largest grid index: times a weight of 2^10 it still fits 63 bits."""

SMALLEST: Final = Fraction(1, 2**200)
"""No largest absolute bound may lie between 0 and this; below it a grid's scale would leave the doubles."""


class MeasureKind(Enum):
    """What one cell of a measure adds up."""

    ROWS = "rows"
    UNITS = "units"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Grid:
    """The public integer grid a summed value is put on, row by row.

    A value x becomes the index round(clip(x) / step) - origin. ``lower`` and ``upper`` are the clip,
    ``scale`` is 1/step as the double that is multiplied by (1 for integers, which need no grid).
    """

    lower: Fraction
    upper: Fraction
    step: Fraction
    integer: bool
    origin: int = 0

    @property
    def scale(self) -> float:
        """Grid steps per unit of the value, as the engine multiplies by it."""
        return float(1 / self.step)

    def index(self, value: Fraction) -> int:
        """The grid index of a bound, by the engine's own double arithmetic.

        Rounding is monotone, so every clipped value's index lies between those of the bounds.
        """
        if self.integer:
            return int(value)
        return math.floor(float(value) * self.scale + 0.5)

    @property
    def largest(self) -> int:
        """The largest absolute index a row can have."""
        return max(abs(self.index(self.lower) - self.origin), abs(self.index(self.upper) - self.origin))

    def centred(self) -> Grid:
        """The same grid with its origin in the middle of the clip, which halves what a row can add."""
        middle = (self.index(self.lower) + self.index(self.upper)) // 2
        return Grid(self.lower, self.upper, self.step, self.integer, middle)


@dataclass(frozen=True, slots=True)
class Measure:
    """One vector of cells that is summed exactly and then gets noise.

    ROWS counts rows that satisfy ``where``; UNITS counts units with such a row; SUM adds grid indices of
    ``argument``. ``limit`` is the largest sum of absolute indices one unit may add (from `max_sum`).
    """

    kind: MeasureKind
    argument: Expression | None
    where: Expression | None
    grid: Grid | None
    limit: int | None
    label: str = field(compare=False)


Term = Callable[[Measure], Column]
"""Gives the column of the released relation that will hold a measure."""


class Decomposition:
    """Takes aggregates apart into measures; equal measures are measured once."""

    def __init__(
        self, query: Query, unit: Column | None, policy: Policy, facts: Facts, *, merge_rows: bool
    ) -> None:
        self._query = query
        self._unit = unit
        self._policy = policy
        self._facts = facts
        # With one row a unit and capped groups, rows are units: the threshold's count serves COUNT(*).
        self._merge_rows = merge_rows
        self.measures: list[Measure] = []

    def column(self, measure: Measure) -> Column:
        """The released column of a measure, which is added if it is new."""
        if measure not in self.measures:
            self.measures.append(measure)
        number = self.measures.index(measure) + 1
        integral = measure.grid is None or measure.grid.integer
        return Column("released", f"m{number}", Type.INTEGER if integral else Type.DOUBLE)

    def units(self) -> Measure:
        """The measure that counts a group's units."""
        return Measure(MeasureKind.UNITS, None, None, None, None, "COUNT(DISTINCT unit)")

    def answer(self, aggregate: Aggregate) -> Expression:
        """The aggregate as an expression over released columns.

        Raises:
            PolicyRefused, UnsupportedQuery: when a value cannot be bounded.
        """
        match aggregate.kind:
            case AggregateKind.COUNT_ROWS:
                return self.column(self._rows(aggregate.where, aggregate.text))
            case AggregateKind.COUNT:
                return self.column(self._rows(self._present(aggregate), aggregate.text))
            case AggregateKind.COUNT_DISTINCT:
                return self.column(self._distinct(aggregate))
            case AggregateKind.SUM:
                return self.column(self._sum(aggregate))
            case AggregateKind.AVG:
                return self._average(aggregate)

    def _rows(self, where: Expression | None, label: str) -> Measure:
        if where is None and self._merge_rows:
            return Measure(MeasureKind.UNITS, None, None, None, None, label)
        return Measure(MeasureKind.ROWS, None, where, None, None, label)

    def _present(self, aggregate: Aggregate) -> Expression | None:
        argument = aggregate.argument
        if argument is None or self._never_null(argument):
            return aggregate.where
        present = Call("not", (Call("is_null", (argument,), Type.BOOLEAN),), Type.BOOLEAN)
        return conjunction(tuple(part for part in (aggregate.where, present) if part is not None))

    def _never_null(self, argument: Expression) -> bool:
        if isinstance(argument, Literal):
            return argument.value is not None
        if not isinstance(argument, Column):
            return False
        scan = next(scan for scan in self._query.scans if scan.alias == argument.source)
        constant = not scan.public and self._policy.tables[scan.table].columns[argument.name].constant
        return not scan.public and not constant and self._facts.never_null(scan.table, argument.name)

    def _distinct(self, aggregate: Aggregate) -> Measure:
        if self._unit is None or aggregate.argument != self._unit:
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "COUNT(DISTINCT x) is supported for the privacy unit only.",
                hint="GROUP BY x shows the values that enough people share.",
                position=aggregate.position,
            )
        return Measure(MeasureKind.UNITS, None, aggregate.where, None, None, aggregate.text)

    def _sum(self, aggregate: Aggregate) -> Measure:
        grid = self._grid(aggregate)
        limit = self._limit(aggregate.argument, grid)
        return Measure(MeasureKind.SUM, aggregate.argument, aggregate.where, grid, limit, aggregate.text)

    def _average(self, aggregate: Aggregate) -> Expression:
        plain = self._grid(aggregate)
        # Centred, a range of one grid index would add nothing and need no noise: nothing to measure.
        grid = plain.centred() if plain.centred().largest else plain
        inner = f"{aggregate.text} centred"
        total = self.column(Measure(MeasureKind.SUM, aggregate.argument, aggregate.where, grid, None, inner))
        label = f"COUNT of {aggregate.text}"
        count = self.column(self._rows(self._present(aggregate), label))
        return _mean(total, count, grid)

    def _grid(self, aggregate: Aggregate) -> Grid:
        argument = _argument(aggregate)
        bounds = self._bounds(argument, aggregate)
        if bounds.magnitude > LARGEST:
            raise UnsupportedQuery(
                errors.UNBOUNDED,
                f"{aggregate.text} can reach values beyond 2^62.",
                position=aggregate.position,
            )
        grid = None if 0 < bounds.magnitude < SMALLEST else self._on_grid(argument, bounds)
        if grid is None or grid.largest == 0 or grid.largest > MAX_INDEX:
            raise UnsupportedQuery(
                errors.UNBOUNDED,
                f"{aggregate.text} has a range of {_range(bounds)} that cannot be measured.",
                position=aggregate.position,
            )
        return grid

    def _bounds(self, argument: Expression, aggregate: Aggregate) -> Interval:
        found = interval(argument, self._declared)
        if found is not None:
            return found
        bare = next((c for c in columns(argument) if c.type.numeric and self._declared(c) is None), None)
        if bare is not None:
            raise PolicyRefused(
                errors.NEEDS_BOUNDS,
                f"{aggregate.text} needs clipping bounds.",
                hint=f"The data owner can add `bounds: [low, high]` to column {bare.name!r} in the policy.",
                position=aggregate.position,
            )
        raise UnsupportedQuery(
            errors.UNBOUNDED,
            f"The range of {aggregate.text} cannot be bounded.",
            hint="Keep divisors away from 0, as in x / GREATEST(y, 1), and sum columns that have bounds.",
            position=aggregate.position,
        )

    def _on_grid(self, argument: Expression, bounds: Interval) -> Grid:
        if argument.type is Type.INTEGER:
            return Grid(bounds.lower, bounds.upper, Fraction(1), integer=True)
        declared = self._policy_column(argument)
        if declared is not None and declared.step is not None:
            return Grid(bounds.lower, bounds.upper, Fraction(declared.step), integer=False)
        exponent = GRID_BITS - math.ceil(math.log2(bounds.magnitude)) if bounds.magnitude else GRID_BITS
        return Grid(bounds.lower, bounds.upper, Fraction(2) ** -exponent, integer=False)

    def _limit(self, argument: Expression | None, grid: Grid) -> int | None:
        declared = self._policy_column(argument)
        if declared is None or declared.max_sum is None:
            return None
        return min(MAX_INDEX, max(1, math.floor(Fraction(declared.max_sum) / grid.step)))

    def _policy_column(self, argument: Expression | None) -> ColumnPolicy | None:
        if not isinstance(argument, Column):
            return None
        scan = next(scan for scan in self._query.scans if scan.alias == argument.source)
        return self._policy.tables[scan.table].column(argument.name)

    def _declared(self, part: Expression) -> Interval | None:
        declared = self._policy_column(part)
        if declared is None or declared.number_bounds is None:
            return None
        low, high = declared.number_bounds
        return Interval(Fraction(low), Fraction(high))


def _argument(aggregate: Aggregate) -> Expression:
    if aggregate.argument is None:
        raise TypeError("SUM and AVG have an argument")
    return aggregate.argument


def _range(bounds: Interval) -> str:
    return f"{float(bounds.lower):g} to {float(bounds.upper):g}"


def _mean(total: Column, count: Column, grid: Grid) -> Expression:
    """clip(middle + sum / max(1, count)), in the value's unit."""

    def number(value: Fraction) -> Literal:
        return Literal(float(value), Type.DOUBLE)

    one = Literal(1, Type.INTEGER)
    rows = Call("greatest", (count, one), Type.INTEGER)
    ratio = Call("div", (total, rows), Type.DOUBLE)
    mean = Call("add", (number(grid.origin * grid.step), ratio), Type.DOUBLE)
    low = Call("greatest", (mean, number(grid.lower)), Type.DOUBLE)
    return Call("least", (low, number(grid.upper)), Type.DOUBLE)
