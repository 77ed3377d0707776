"""Do the parts of a policy agree with each other?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from dpsql.accounting.filters import Portfolio
from dpsql.policy.breach import Breach, Path, name_breaches, name_fault
from dpsql.policy.budget import Budget
from dpsql.policy.column_rules import column_breaches
from dpsql.policy.declaration import Declaration
from dpsql.policy.table_rules import table_breaches
from dpsql.policy.unit_rules import unit_breaches


class Unsound(ValueError):
    """The parts of a policy break a rule. Attribute: ``breaches``, in the order of the rules."""

    def __init__(self, breaches: tuple[Breach, ...]) -> None:
        self.breaches = breaches
        lines = (f"{'.'.join(map(str, breach.path))}: {breach.message}" for breach in breaches)
        super().__init__("; ".join(lines))


def lint(policy: Declaration) -> tuple[Breach, ...]:
    """Every rule between keys that the policy breaks."""
    return tuple(_breaches(policy))


def _breaches(policy: Declaration) -> Iterator[Breach]:
    yield from _names(policy)
    yield from _places(policy)
    yield from _prices(policy)
    yield from _budgets(policy)
    yield from unit_breaches(policy)
    if not policy.private_tables:
        yield Breach(("tables",), "no table is private: there is nobody to protect", about=(("tables",),))
    for table in policy.tables.values():
        yield from table_breaches(table)
        for column in table.columns.values():
            yield from column_breaches(policy, table, column)


def _names(policy: Declaration) -> Iterator[Breach]:
    single: tuple[tuple[Path, str], ...] = (
        (("id",), policy.id),
        (("privacy_unit", "name"), policy.privacy_unit.name),
    )
    for path, name in single:
        fault = name_fault(name, dots=True)
        if fault is not None:
            yield Breach(path, fault)
    yield from name_breaches(("analysts",), policy.analysts or (), dots=True)
    yield from name_breaches(("tables",), policy.tables, dots=False)
    for name in policy.tables:
        if name.startswith("_"):
            message = "names that start with _ are kept for dpsql's own relations"
            yield Breach(("tables", name), message, "rename the table in the source", about=(), at_key=True)
    for table in policy.tables.values():
        yield from name_breaches(("tables", table.name, "columns"), table.columns, dots=False)
        yield from name_breaches(("tables", table.name, "max_groups"), table.max_groups, dots=False)


def _places(policy: Declaration) -> Iterator[Breach]:
    if "://" in policy.source or policy.source.partition(":")[0] in ("postgresql", "postgres", "spark"):
        message = (
            "only a DuckDB file, or a folder of Parquet or CSV files; other sources are not supported yet"
        )
        yield Breach(("source",), message)
    if policy.ledger is not None and "://" in policy.ledger:
        yield Breach(("ledger",), "only a file; a ledger in a database server is not supported yet")
    if policy.analyst_mode != "quota":
        yield Breach(("analyst_mode",), f"`analyst_mode: {policy.analyst_mode}` is not supported yet")


def _prices(policy: Declaration) -> Iterator[Breach]:
    price = policy.per_query
    if price is None or price.max_epsilon is None or price.epsilon <= price.max_epsilon:
        return
    message = f"the default epsilon {price.epsilon} is above max_epsilon {price.max_epsilon}"
    yield Breach(("per_query", "epsilon"), message)


def _budgets(policy: Declaration) -> Iterator[Breach]:
    for path, budget in _all_budgets(policy):
        fault = _budget_fault(policy, budget.epsilon, budget.delta)
        if fault is not None:
            yield Breach((*path, "epsilon"), fault, about=(path,))
    if policy.budget is None:
        fault = _budget_fault(policy, *policy.summed_budget())
        if fault is not None:
            hint = "write `budget`, what one unit may lose over all tables"
            yield Breach(
                ("tables",),
                f"the sum of the tables' budgets: {fault}",
                hint,
                about=(("tables",), ("budget",)),
            )


def _all_budgets(policy: Declaration) -> Iterator[tuple[Path, Budget]]:
    if policy.budget is not None:
        yield ("budget",), policy.budget
    for name, quota in (policy.analysts or {}).items():
        yield ("analysts", name), quota
    for table in policy.private_tables:
        if table.budget is not None:
            yield ("tables", table.name, "budget"), table.budget


def _budget_fault(policy: Declaration, epsilon: Decimal, delta: Decimal) -> str | None:
    try:
        Portfolio.open(epsilon, delta, slack_share=policy.slack_share)
    except ValueError as refusal:
        return f"no privacy filter can guard this budget: {refusal}"
    return None
