"""Which SQL computes the exact bounded answer of a plan?

The statement has the order in which a unit's contribution is bounded: owners and constants at the scan,
the query's own rows, groups outside the public domain dropped, groups capped by a keyed hash, then one
weight per unit. Every shape gives the same integers. docs/proofs/rewrite.md proves the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.analysis.partitions import Key
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.cells import CellWriter
from dpsql.engine.domain import relation
from dpsql.engine.rows import RowWriter
from dpsql.plan.plan import Plan
from dpsql.policy.model import Policy
from dpsql.sql.expression import Value

_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_PARAMETER: Final = re.compile(r"\$(cap_key|d\d+)\b")


@dataclass(frozen=True, slots=True)
class Program:
    """The statement that computes a plan's exact cells, and which noisy cells may leave.

    ``sql`` gives one row per group, ordered by key, with columns k1.. and c1..; it names its parameters
    ($cap_key and $d1.., the public values of the keys). ``threshold`` is the condition on a noisy count that
    shows a private group.
    """

    sql: str
    parameters: Mapping[str, tuple[Value, ...]]
    keys: tuple[Key, ...]
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
    return Program(writer.statement(), parameters, analysis.partitioning.keys, threshold)


class _Writer:
    """Writes the statement of one plan, clause by clause in the order of bounding."""

    def __init__(self, plan: Plan, policy: Policy) -> None:
        self._plan = plan
        self._analysis = plan.analysis
        self._measures = plan.analysis.measures
        self._keys = [key.name for key in plan.analysis.partitioning.keys]
        self._public = plan.analysis.partitioning.public
        self._rows = RowWriter(plan.analysis, policy)
        self._cells = CellWriter(plan.analysis, joined=self._joined())

    def _joined(self) -> bool:
        """Whether the rows come through a join: to public tables, to the owner, or to constants."""
        owner = self._analysis.owner
        if self._analysis.query.joins or owner.path:
            return True
        return any(name in owner.constants for name in self._rows.used(owner.scan.alias))

    def statement(self) -> str:
        clauses = ",\n".join(str(clause) for clause in (*self._rows.clauses(), *self._cells.clauses()))
        return f"WITH {clauses}\n{self._result()}"

    def _result(self) -> str:
        cells = ", ".join(self._cell(number) for number in range(1, len(self._measures) + 1))
        names = self._cells.relations
        if not self._public:
            order = ", ".join(f"{key} NULLS LAST" for key in self._keys)
            return f"SELECT {', '.join(self._keys)}, {cells}\nFROM _cells{self._minimum()}\nORDER BY {order}"
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
