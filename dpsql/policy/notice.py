"""What should the owner know although nothing is wrong?"""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.policy.budget import Budget
from dpsql.policy.declaration import Declaration
from dpsql.policy.digest import decimal_text


def notices(policy: Declaration) -> tuple[str, ...]:
    """One sentence for each consequence of the policy that its text does not show."""
    return (*_unit(policy), *_slack(policy), *_defaults(policy), *_group_caps(policy))


def _unit(policy: Declaration) -> Iterator[str]:
    if policy.budget is None:
        budget = policy.unit_budget()
        yield (
            f"No `budget` for the privacy unit: one {policy.privacy_unit.name} may lose the sum of the"
            f" tables, epsilon {decimal_text(budget.epsilon)}, delta {decimal_text(budget.delta)}."
        )


def _slack(policy: Declaration) -> Iterator[str]:
    share = policy.slack_share
    if not share:
        return
    price = policy.per_query
    for account, budget in _accounts(policy):
        if not budget.delta:
            yield f"Account {account} has delta 0: it admits no query with groups that have no public domain."
        elif price is not None and price.delta:
            queries = int(share * budget.delta / price.delta)
            yield (
                f"Account {account} keeps {share:.0%} of its delta for groups without a public domain: that"
                f" admits at most {queries} queries with such groups at delta {decimal_text(price.delta)},"
                " then none for ever."
            )


def _accounts(policy: Declaration) -> Iterator[tuple[str, Budget]]:
    yield f"unit:{policy.privacy_unit.name}", policy.unit_budget()
    for table in policy.private_tables:
        if table.budget is not None:
            yield f"table:{table.name}", table.budget
    for name, quota in (policy.analysts or {}).items():
        yield f"analyst:{name}", quota


def _defaults(policy: Declaration) -> Iterator[str]:
    if policy.per_query is None:
        yield "No `per_query`: every query must state its epsilon."
        return
    for account, budget in _accounts(policy):
        if policy.per_query.epsilon > budget.epsilon:
            yield f"Account {account} is smaller than the default price of a query: it admits none."


def _group_caps(policy: Declaration) -> Iterator[str]:
    for table in policy.private_tables:
        for name, groups in table.max_groups.items():
            if table.max_rows is not None and groups > table.max_rows:
                yield (
                    f"tables.{table.name}.max_groups.{name} is {groups}, but {table.max_rows} rows cannot"
                    f" touch more than {table.max_rows} groups."
                )
