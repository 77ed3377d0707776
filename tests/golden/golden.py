"""How a golden file is read and written.

It holds settings (`-- policy: clinic`), one query that ends in `;`, and three blocks: what is charged, which
noise is added, and the SQL that runs; where that SQL needs no secret, also its rows without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dpsql.engine.release import Release
from dpsql.plan.plan import Plan
from dpsql.session import Terms

ROWS = 8
"""Most rows of an answer that are kept."""


@dataclass(frozen=True)
class Golden:
    """One golden file: what is asked, and what was planned for it when it was written."""

    path: Path
    settings: dict[str, str]
    sql: str
    planned: str

    @property
    def terms(self) -> Terms:
        """The price that the file's settings state."""
        epsilon, delta = (self.settings.get(name) for name in ("epsilon", "delta"))
        return Terms(
            None if epsilon is None else Decimal(epsilon),
            None if delta is None else Decimal(delta),
            self.settings.get("error"),
        )

    def write(self, planned: str) -> None:
        """Keep what is planned now."""
        head = [f"-- {name}: {value}" for name, value in self.settings.items()]
        text = "\n".join([*head, f"{self.sql};", "", planned])
        self.path.write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> Golden:
    """A golden file; one without blocks is new."""
    asked, _, planned = path.read_text(encoding="utf-8").partition(";\n")
    lines = asked.splitlines()
    settings = [line.removeprefix("-- ").partition(": ") for line in lines if line.startswith("-- ")]
    sql = "\n".join(line for line in lines if not line.startswith("-- "))
    return Golden(path, {name: value for name, _, value in settings}, sql.strip(), planned.strip())


def describe(plan: Plan, release: Release) -> str:
    """The blocks of a plan and of the answer without noise."""
    charges = [f"-- {c.account}: epsilon {c.epsilon:f}, delta {c.delta}, {c.event}" for c in plan.charges]
    noise = [
        f"-- {m.sql}: {m.mechanism}, l1 {m.l1:.10g}, l2 {m.l2:.10g}, scale {m.scale:.8g}, error {m.error:.8g}"
        for m in plan.measurements
    ]
    groups = [] if plan.threshold_units is None else [f"-- threshold: {plan.threshold_units:g} units"]
    blocks = ["-- charge:", *charges, "-- error:", *noise, *groups, "-- sql:", plan.sql]
    return "\n".join([*blocks, *_answer(plan, release)])


def _answer(plan: Plan, release: Release) -> list[str]:
    if "$cap_key" in plan.sql:
        return []
    more = len(release.rows) - ROWS
    rows = [f"-- {', '.join(map(str, row))}" for row in release.rows[:ROWS]]
    return ["-- answer without noise:", *rows, *([f"-- and {more} more rows"] if more > 0 else [])]
