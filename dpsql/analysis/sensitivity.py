"""How far can one privacy unit move a measure?

All figures are exact integers on the lattice in which cells are summed: `UNIT` lattice steps for a
counted row, a counted unit or a step of a value's grid. A unit's rows are weighted so that their weights
add up to at most R; so whatever cells the rows lie in, the absolute values it adds over all cells stay
below R times the largest of a row. The proof is docs/proofs/sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dpsql.analysis.aggregates import Measure, MeasureKind
from dpsql.analysis.partitions import Partitioning
from dpsql.analysis.scans import Rows

UNIT: Final = 1024
"""Lattice steps of weight 1; weights are w/1024 with an integer w."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most one unit can move a measure's vector of cells: L1, and the square of L2, in lattice steps.

    ``cells`` bounds the number of cells a unit can move.
    """

    l1: int
    l2_squared: int
    cells: int


def sensitivity(measure: Measure, rows: Rows, partitioning: Partitioning, *, capped: bool) -> Sensitivity:
    """The sensitivity of a measure under the row bound, and under the group cap if it is ``capped``."""
    touched = partitioning.touched if capped or partitioning.cells is None else partitioning.cells
    match measure.kind:
        case MeasureKind.ROWS:
            return _total(rows.bound, touched)
        case MeasureKind.SUM:
            most = rows.bound * (1 if measure.grid is None else measure.grid.largest)
            return _total(most if measure.limit is None else min(most, measure.limit), touched)
        case MeasureKind.UNITS:
            groups = partitioning.touched
            return Sensitivity(groups * UNIT, groups * UNIT * UNIT, groups)


def _total(most: int, cells: int) -> Sensitivity:
    # All of a unit's rows may lie in one cell, so L2 is as large as L1.
    return Sensitivity(most * UNIT, (most * UNIT) ** 2, cells)
