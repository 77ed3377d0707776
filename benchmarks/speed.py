"""How much longer does a noisy answer take than DuckDB's exact one?

Whole path: text to answer, charge included but kept in memory, so without the disk's fsync. Both sides run
in one process on the same file, in turn; the ratio is of medians. Run it on a quiet machine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import duckdb

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import people
from dpsql.engine.duckdb import LOCKED
from dpsql.engine.postprocess import SETTINGS
from dpsql.session import Session

RUNS: Final = 15
TARGETS: Final = {"a": None, "b": 7.5, "c": 3.8, "d": 1.6}
MILLISECONDS_A: Final = 40.0
PLAN_MILLISECONDS: Final = 10.0

TPCH_SIZED: Final = """
SELECT region, sex, visits // 5 AS fives,
       SUM(income) AS total, SUM(income * (1 - visits / 100)) AS discounted,
       SUM(income * (1 - visits / 100) * (1 + age / 1000)) AS charged,
       AVG(visits) AS mean_visits, AVG(income) AS mean_income, AVG(age) AS mean_age, COUNT(*) AS rows
FROM people
WHERE visits <= 19 AND age BETWEEN 20 AND 85
GROUP BY region, sex, fives ORDER BY region, sex
"""


def timed(action: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def verdict(reached: bool) -> str:
    """How a figure stands to its target, in words."""
    return "reached" if reached else "missed"


def exact_answer(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    """DuckDB's own answer."""
    return connection.execute(sql).fetchall()


def fresh_answer(session: Session, sql: str, run: int) -> object:
    """An answer that no earlier run can replay: its last column has another name."""
    return session.answer(sql.replace(" FROM", f" AS run_{run} FROM"))


def main() -> None:
    """Print milliseconds and ratios for the four queries, and the planning time of a large one."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    people.build(folder)
    plain = duckdb.connect(str(folder / "people.duckdb"), read_only=True, config=dict(SETTINGS) | LOCKED)
    path = people.policy(folder, rows=10)
    print(f"{'query':6}{'exact ms':>10}{'noisy ms':>10}{'ratio':>8}{'target':>8}  verdict")
    for name, sql in people.QUERIES.items():
        session = Session.open(path, ":memory:")
        exact, noisy = [], []
        for run in range(RUNS):
            exact.append(timed(partial(exact_answer, plain, sql)))
            noisy.append(timed(partial(fresh_answer, session, sql, run)))
        session.close()
        left, right = statistics.median(exact), statistics.median(noisy)
        target = TARGETS[name]
        wanted = f"{MILLISECONDS_A:.0f} ms" if target is None else f"{target:.1f}"
        reached = right <= MILLISECONDS_A if target is None else right / left <= target
        print(f"{name:6}{left:10.1f}{right:10.1f}{right / left:8.2f}{wanted:>8}  {verdict(reached)}")
    session = Session.open(path, ":memory:")
    planning = statistics.median(timed(lambda: session.explain(TPCH_SIZED)) for _ in range(RUNS))
    print(
        f"planning and pricing a query of TPC-H's size: {planning:.1f} ms"
        f" (target {PLAN_MILLISECONDS:.0f} ms): {verdict(planning <= PLAN_MILLISECONDS)}"
    )


if __name__ == "__main__":
    main()
