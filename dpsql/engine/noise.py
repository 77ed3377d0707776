"""Which noise is added to which cell, and what does the sum mean?

Noise is drawn here, once per cell, by the mechanisms. Noisy cells, and only those, come back to be read in
the answer's unit.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsql.analysis.sensitivity import UNIT
from dpsql.mechanisms import NoiseSource
from dpsql.plan.plan import Measurement, Plan
from dpsql.sql.expression import Type

LARGEST: Final = 2.0**62


def noise_table(plan: Plan, rows: int, source: NoiseSource) -> dict[str, NDArray[Any]]:
    """One row of noise per group: its number i, and z1.. for each measure, in lattice steps.

    Raises:
        ValueError: when a draw has another length than the table.
    """
    table: dict[str, NDArray[Any]] = {"i": np.arange(rows, dtype=np.int64)}
    for number, part in enumerate(plan.measurements, start=1):
        drawn = part.noise.mechanism.draw(source, rows)
        if len(drawn) != rows:
            raise ValueError("a draw has another length than the table")
        table[f"z{number}"] = drawn
    return table


def cell_type(part: Measurement) -> Type:
    """Whole numbers for counts and for sums of whole numbers."""
    grid = part.measure.grid
    return Type.INTEGER if grid is None or grid.integer else Type.DOUBLE


def in_unit(part: Measurement, noisy: NDArray[np.float64]) -> NDArray[Any]:
    """Noisy cells, in lattice steps, to the nearest step of the measure's grid, in the answer's unit."""
    steps = np.floor(noisy * (part.noise.lattice / UNIT) + 0.5)
    grid = part.measure.grid
    if grid is None or grid.integer:
        # Far outside every honest answer, where a whole number would not fit.
        return np.clip(steps, -LARGEST, LARGEST).astype(np.int64)
    per_unit = 1 / grid.step
    return steps / float(per_unit) if per_unit.denominator == 1 else steps * float(grid.step)
