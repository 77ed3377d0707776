"""What can one unit change in the exact cells, and what did the plan say it can?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import duckdb

from dpsql.analysis.analysis import analyse
from dpsql.analysis.facts import Facts
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.rewrite import Program, rewrite
from dpsql.plan.noise import Noise
from dpsql.plan.plan import Plan
from dpsql.plan.planner import plan
from dpsql.plan.price import Price
from dpsql.policy.model import Policy
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.strategies import Database, fill, public_tables

CAP_KEY = "5" * 64
SHAPES = dict(
    re.findall(
        r"-- shape: (\w+)\n([^;]*(?:'[^']*'[^;]*)*);", Path(__file__).with_name("shapes.sql").read_text()
    )
)
Cells = dict[tuple[object, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Case:
    """A planned query and the statement that runs for it."""

    plan: Plan
    program: Program

    def patched(self, old: str, new: str) -> Case:
        """The case with a fault planted in its SQL."""
        assert old in self.program.sql, self.program.sql
        return replace(self, program=replace(self.program, sql=self.program.sql.replace(old, new)))


def case(sql: str, policy: Policy, facts: Facts) -> Case:
    """The query as a session would plan it, at epsilon 1."""
    analysis = analyse(resolve(parse(sql), policy), policy, facts)
    planned = plan(analysis, Price(Decimal(1), Decimal("1e-6")), policy, "analyst")
    return Case(planned, rewrite(planned, policy))


def fine(found: Case, policy: Policy) -> Case:
    """The same query with every cell on the finest lattice, where nothing hides in rounding."""
    parts = tuple(replace(m, noise=Noise(m.noise.mechanism, 1)) for m in found.plan.measurements)
    planned = replace(found.plan, measurements=parts)
    return Case(planned, rewrite(planned, policy))


class Laboratory:
    """A database in memory to run programs in: public tables once, private ones anew for each run."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        public_tables(self._connection)

    def cells(self, found: Case, database: Database) -> Cells:
        """The exact cells of a database, by key."""
        fill(self._connection, database, found.plan.analysis.owner.tables)
        return cells(found, self._connection)


def cells(found: Case, connection: duckdb.DuckDBPyConnection) -> Cells:
    """The exact cells on a connection that has the tables."""
    rows = connection.execute(found.program.sql, found.program.arguments(CAP_KEY)).fetchall()
    keys = len(found.program.keys)
    result = {row[:keys]: row[keys:] for row in rows}
    assert len(result) == len(rows), "a group appears twice"
    return result


def breaches(laboratory: Laboratory, found: Case, database: Database, unit: int) -> Iterator[str]:
    """Every way in which removing the unit changes more than the plan says; empty on sound code."""
    try:
        mine, theirs = laboratory.cells(found, database), laboratory.cells(found, database.without(unit))
    except duckdb.Error as fault:
        yield f"the run fails on some rows: {type(fault).__name__}"
        return
    if found.plan.analysis.threshold is None:
        if list(mine) != list(theirs):
            yield "public groups differ"
            return
    else:
        yield from _appearance(found, mine, theirs)
    yield from _moves(found, mine, theirs)


def _moves(found: Case, mine: Cells, theirs: Cells) -> Iterator[str]:
    common = [key for key in mine if key in theirs]
    for number, part in enumerate(found.plan.analysis.sensitivities):
        lattice = found.plan.measurements[number].noise.lattice
        moved = [d for d in (abs(mine[key][number] - theirs[key][number]) for key in common) if d]
        l1 = part.l1 if lattice == 1 else -(-part.l1 // lattice) + part.cells
        if sum(moved) > l1:
            yield f"measure {number + 1}: l1 is {sum(moved)}, declared {l1}"
        length, l2 = math.sqrt(sum(d * d for d in moved)), math.sqrt(part.l2_squared) / lattice
        if length > (l2 if lattice == 1 else l2 + math.sqrt(part.cells)) * (1 + 1e-12):
            yield f"measure {number + 1}: l2 is {length}, declared {l2}"
        if len(moved) > part.cells:
            yield f"measure {number + 1}: {len(moved)} cells move, declared {part.cells}"


def _appearance(found: Case, mine: Cells, theirs: Cells) -> Iterator[str]:
    """Groups that stand on one side only: few, and none with more units than are always hidden."""
    analysis = found.plan.analysis
    assert analysis.threshold is not None
    alone = [mine[key] for key in mine if key not in theirs] + [
        theirs[key] for key in theirs if key not in mine
    ]
    moved = [key for key in mine if key in theirs and mine[key] != theirs[key]]
    touched = analysis.partitioning.touched
    if len(alone) + len(moved) > touched:
        yield f"{len(alone)} groups appear and {len(moved)} move, declared {touched}"
    lattice = found.plan.measurements[analysis.threshold].noise.lattice
    most = max((row[analysis.threshold] for row in alone), default=0)
    hidden = max(1, analysis.min_group_units)
    if most * lattice > hidden * UNIT:
        yield f"a group of {most * lattice / UNIT} units appears, hidden are {hidden}"
