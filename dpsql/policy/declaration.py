"""What did the owner write, and who owns which row?"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from dpsql.accounting.rounding import EXACT
from dpsql.policy.budget import Budget, PerQuery
from dpsql.policy.number import Count
from dpsql.policy.part import Part
from dpsql.policy.table import GROUPABLE, TablePolicy
from dpsql.policy.unit import PrivacyUnit, UnitPath, UnitStep

SLACK_SHARE: Final = Decimal("0.10")
"""Share of delta that pays for thresholds wherever a group can have private keys."""


def _name_tables(tables: dict[str, TablePolicy]) -> dict[str, TablePolicy]:
    return {name: table.named(name) for name, table in tables.items()}


class Declaration(Part):
    """The keys of a policy file and the facts that follow from them; not yet checked against each other."""

    version: Literal[1] = Field(description="Version of this format: 1.")
    id: str = Field(min_length=1, description="Name of the policy; a ledger belongs to one id.")
    source: str = Field(
        min_length=1,
        description="Where the data is: a DuckDB file, or a folder of Parquet or CSV files; relative to the"
        " policy file.",
    )
    privacy_unit: PrivacyUnit = Field(description="Whom the policy protects.")
    budget: Budget | None = Field(
        default=None,
        description="The unit account: what one unit may lose over all tables; default: the tables' sum.",
    )
    data_version: Count = Field(
        default=1, description="Raised by the owner when the data changes; old answers are then not replayed."
    )
    per_query: PerQuery | None = Field(
        default=None,
        description="Default price and cap of a query; without it every query states its epsilon.",
    )
    analysts: dict[str, Budget] | None = Field(
        default=None,
        min_length=1,
        description="A quota for each analyst by name; with this block a name not listed is refused.",
    )
    analyst_mode: Literal["quota", "reserved"] = Field(
        default="quota",
        description="quota: analysts share the tables' accounts. reserved is not supported yet: refused.",
    )
    ledger: str | None = Field(
        default=None,
        min_length=1,
        description="File of the ledger; default `<policy name>.ledger.db` beside the policy.",
    )
    tables: Annotated[dict[str, TablePolicy], AfterValidator(_name_tables)] = Field(
        min_length=1, description="The tables queries may use, by name; others do not exist for analysts."
    )

    def table(self, name: str) -> TablePolicy | None:
        """The table of that name in any spelling of its letters, or None."""
        folded = name.casefold()
        return next((table for table in self.tables.values() if table.name.casefold() == folded), None)

    @property
    def private_tables(self) -> tuple[TablePolicy, ...]:
        """The tables that hold personal data, in the order of the file."""
        return tuple(table for table in self.tables.values() if not table.public)

    def summed_budget(self) -> tuple[Decimal, Decimal]:
        """(epsilon, delta) summed over the private tables: what a unit with rows in all of them may lose."""
        budgets = [table.budget for table in self.private_tables if table.budget is not None]
        epsilon = reduce(EXACT.add, (budget.epsilon for budget in budgets), Decimal(0))
        return epsilon, reduce(EXACT.add, (budget.delta for budget in budgets), Decimal(0))

    def unit_budget(self) -> Budget:
        """The unit account's budget: the one declared, or the sum over the private tables."""
        if self.budget is not None:
            return self.budget
        epsilon, delta = self.summed_budget()
        return Budget(epsilon=epsilon, delta=delta)

    def is_unit_table(self, table: TablePolicy) -> bool:
        """Whether the table is the one that `privacy_unit` names."""
        return table.name == self.privacy_unit.table

    def declared_unit(self, table: TablePolicy) -> str | UnitPath | None:
        """The table's unit: its own `unit`, or the key of `privacy_unit` if it is that table."""
        if table.unit is None and self.is_unit_table(table):
            return self.privacy_unit.key
        return table.unit

    def path_of(self, table: TablePolicy) -> tuple[UnitStep, ...] | None:
        """The steps from a table to one with a unit column; None if a step is missing or goes in a circle."""
        steps: list[UnitStep] = []
        current = table
        while len(steps) <= len(self.tables):
            unit = self.declared_unit(current)
            if not isinstance(unit, UnitPath):
                return None if unit is None else tuple(steps)
            step = self._step(current, unit)
            parent = None if step is None else self.tables[step.parent]
            if step is None or parent is None:
                return None
            steps.append(step)
            current = parent
        return None

    def _step(self, table: TablePolicy, unit: UnitPath) -> UnitStep | None:
        """The step that a path takes, or None if a name in it does not exist."""
        parent = self.tables.get(unit.target.table)
        if parent is None or unit.column not in table.columns or unit.target.column not in parent.columns:
            return None
        return UnitStep(table.name, unit.column, parent.name, unit.target.column)

    @property
    def slack_share(self) -> Decimal:
        """Share of every delta kept for thresholds: 0.10 if any group can have private keys, else 0."""
        return SLACK_SHARE if any(map(self._has_private_keys, self.private_tables)) else Decimal(0)

    def _has_private_keys(self, table: TablePolicy) -> bool:
        links = self._link_columns(table)
        return any(
            column.type in GROUPABLE and column.key_domain is None and column.name not in links
            for column in table.columns.values()
        )

    def _link_columns(self, table: TablePolicy) -> frozenset[str]:
        """Columns that say whose a row is, which no query needs to group by."""
        links: set[str] = set()
        for other in self.private_tables:
            match self.declared_unit(other):
                case UnitPath(column=column) as path:
                    if other is table:
                        links.add(column)
                    if path.target.table == table.name:
                        links.add(path.target.column)
                case str() as column if other is table:
                    links.add(column)
                case _:
                    continue
        return frozenset(links)
