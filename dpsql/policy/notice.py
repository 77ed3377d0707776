"""What should the owner know although nothing is wrong?"""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.policy.budget import Budget
from dpsql.policy.declaration import Declaration
from dpsql.spelling import number


def notices(policy: Declaration) -> tuple[str, ...]:
    """One sentence for each consequence of the policy that its text does not show."""
    return (*_unit(policy), *_slack(policy), *_defaults(policy), *_group_caps(policy))


def _unit(policy: Declaration) -> Iterator[str]:
    if policy.budget is None:
        budget = policy.unit_budget()
        yield (
            f"No `budget` for the privacy unit: one {policy.privacy_unit.name} may lose the sum of the"
            f" tables, epsilon {number(budget.epsilon)}, delta {number(budget.delta)}."
        )


def _slack(policy: Declaration) -> Iterator[str]:
    share = policy.slack_share
    if not share:
        return
    without = [account for account, budget in _accounts(policy) if not budget.delta]
    if without:
        yield f"With delta 0, no query with groups that have no public domain is admitted: {_list(without)}."
    price = policy.per_query
    if price is None or not price.delta or not _with_delta(policy):
        return
    admitted = [
        f"{int(share * budget.delta / price.delta)} from {name}" for name, budget in _with_delta(policy)
    ]
    yield (
        f"Each account keeps {share:.0%} of its delta for groups without a public domain. At delta"
        f" {number(price.delta)}, the most queries with such groups, then none for ever: {_list(admitted)}."
    )


def _with_delta(policy: Declaration) -> list[tuple[str, Budget]]:
    return [(account, budget) for account, budget in _accounts(policy) if budget.delta]


def _list(names: list[str]) -> str:
    return ", ".join(names)


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
    price = policy.per_query.epsilon
    small = [account for account, budget in _accounts(policy) if price > budget.epsilon]
    if small:
        yield f"The default price of a query is above the whole budget of {_list(small)}: none is admitted."


def _group_caps(policy: Declaration) -> Iterator[str]:
    for table in policy.private_tables:
        for name, groups in table.max_groups.items():
            if table.max_rows is not None and groups > table.max_rows:
                yield (
                    f"tables.{table.name}.max_groups.{name} is {groups}, but {table.max_rows} rows cannot"
                    f" touch more than {table.max_rows} groups."
                )
