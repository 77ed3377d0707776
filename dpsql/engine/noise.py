"""Which noise is added to which cell? Drawn here, once per cell, by the mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms import NoiseSource
from dpsql.plan.plan import Plan


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
