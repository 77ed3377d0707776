"""How far from the truth are the answers on the people workload, at (1, 1e-6) a query?

The error of a cell is the noise, whose deviation the plan states, and the bias of the bounds, which a run
without noise shows. Averages are drawn 4,000 times from the mechanisms of their plan.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import people
from dpsql.mechanisms import Sampler, SilentSampler
from dpsql.plan.plan import Measurement, Plan
from dpsql.session import Session

DRAWS: Final = 4_000
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """One figure: what was reached, and what must be."""

    name: str
    reached: float
    target: float


def figures(folder: Path) -> Iterator[Figure]:
    """Every figure: at ten rows a user, then at 22 rows and an income that sums to at most 1.2 million."""
    people.build(folder)
    truth = _truth(folder)
    tight, wide = _measured(folder, 10, None), _measured(folder, 22, 1_200_000)
    count, total, centred = tight.plan.measurements
    yield Figure("(b) COUNT noise deviation, 10 rows", _deviation(count), 42.5)
    yield Figure("(b) SUM noise deviation, 10 rows", _deviation(total), 8.5e6)
    mean = _averages(tight, centred, count) - truth["mean"]
    yield Figure("(b) AVG RMSE, 10 rows", float(np.sqrt(np.mean(mean**2))), 0.063)
    yield Figure("(d) COUNT(DISTINCT unit) RMSE, 2 regions", _units(folder, truth["users"]), 3.0)
    count, total, _ = wide.plan.measurements
    yield Figure("(b) COUNT RMSE, 22 rows", _rmse(wide.bounded["rows"] - truth["rows"], count), 95)
    yield Figure("(b) SUM RMSE, max_sum 1.2e6", _rmse(wide.bounded["total"] - truth["total"], total), 5.6e6)


@dataclass(frozen=True)
class _Measured:
    plan: Plan
    bounded: dict[str, Vector]


def _measured(folder: Path, rows: int, max_sum: int | None) -> _Measured:
    session = Session.open(people.policy(folder, rows, max_sum), ":memory:", noise=SilentSampler())
    plan = session.explain(people.QUERIES["b"])
    answer = session.answer(people.QUERIES["b"])
    session.close()
    assert isinstance(plan, Plan)
    return _Measured(plan, _columns(answer.rows, "rows", "total", "mean"))


def _truth(folder: Path) -> dict[str, Vector]:
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT region, COUNT(*), SUM(income), AVG(age), COUNT(DISTINCT user_id)"
            " FROM people GROUP BY region ORDER BY region"
        ).fetchall()
    return _columns(rows, "rows", "total", "mean", "users")


def _columns(rows: list[tuple[Any, ...]], *names: str) -> dict[str, Vector]:
    values = np.array([row[1:] for row in rows], dtype=np.float64)
    return {name: values[:, index] for index, name in enumerate(names)}


def _deviation(part: Measurement) -> float:
    return part.noise.mechanism.std() * float(part.step)


def _rmse(bias: Vector, part: Measurement) -> float:
    return float(np.sqrt(np.mean(bias**2) + _deviation(part) ** 2))


def _averages(measured: _Measured, centred: Measurement, count: Measurement) -> Vector:
    """Averages as a reader would see them: middle + noisy sum / max(1, noisy count)."""
    middle, source = 54.0, Sampler()
    shape = (DRAWS, len(people.REGIONS))

    def noise(part: Measurement) -> Vector:
        drawn = part.noise.mechanism.draw(source, shape[0] * shape[1])
        return drawn.reshape(shape).astype(np.float64) * float(part.step)

    rows = measured.bounded["rows"]
    total = (measured.bounded["mean"] - middle) * rows + noise(centred)
    return np.clip(middle + total / np.maximum(1, rows + noise(count)), 18, 90)


def _units(folder: Path, truth: Vector) -> float:
    session = Session.open(people.policy(folder, 10), ":memory:", noise=SilentSampler())
    plan = session.explain(people.QUERIES["d"])
    bounded = _columns(session.answer(people.QUERIES["d"]).rows, "users")["users"]
    session.close()
    return _rmse(bounded - truth, plan.measurements[0])


def main() -> int:
    """Print the figures beside their targets; 1 when one is missed."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    missed = 0
    for figure in figures(folder):
        missed += figure.reached > figure.target
        print(f"{figure.name:45}{figure.reached:14.4g}   at most {figure.target:g}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
