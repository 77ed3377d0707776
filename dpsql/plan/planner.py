"""Which mechanism, how much noise, who pays?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from dpsql import errors
from dpsql.accounting.event import Composed, Threshold
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.partitions import Key
from dpsql.analysis.sensitivity import UNIT
from dpsql.errors import PolicyRefused
from dpsql.mechanisms import tau
from dpsql.plan.charge import Charge
from dpsql.plan.noise import JointNoise, gaussian, laplace
from dpsql.plan.plan import Plan, measurement
from dpsql.plan.price import Price
from dpsql.policy.budget import Budget
from dpsql.policy.model import Policy
from dpsql.sql.expression import Column

ZERO: Final = Decimal(0)


def plan(analysis: Analysis, price: Price, policy: Policy, analyst: str) -> Plan:
    """The cheaper in error of the mechanisms that the price and the accounts allow.

    Raises:
        PolicyRefused: DP206 for private keys without a delta.
    """
    accounts = _accounts(analysis, policy, analyst)
    delta = price.delta if all(budget.delta > 0 for budget in accounts.values()) else ZERO
    if analysis.threshold is not None:
        _require_delta(delta, policy)
    candidates = [_laplace(analysis, price, delta, accounts)]
    if delta > 0:
        candidates.extend(_gaussian(analysis, price, delta, accounts))
    return min(candidates, key=_error)


def _require_delta(delta: Decimal, policy: Policy) -> None:
    if delta == 0:
        raise PolicyRefused(
            errors.PRIVATE_KEYS_NEED_DELTA,
            "The group keys are not public, so groups are shown above a threshold, which needs delta > 0.",
            hint="Give a delta, or group by keys with a domain.",
        )
    if policy.slack_share == 0:
        raise PolicyRefused(
            errors.PRIVATE_KEYS_NEED_DELTA,
            "The group keys are not public, and the accounts of this policy keep no delta for thresholds,"
            " because every column that can be grouped by has a domain.",
            hint="Group by the columns themselves, or by a CASE that chooses among constants.",
        )


def _accounts(analysis: Analysis, policy: Policy, analyst: str) -> dict[str, Budget]:
    """The accounts of every private table read, of the unit, and of the analyst if the policy lists any."""
    accounts = {}
    for name in dict.fromkeys(analysis.owner.tables):
        budget = policy.tables[name].budget
        if budget is None:
            raise TypeError("a private table has a budget")
        accounts[f"table:{name}"] = budget
    accounts[f"unit:{policy.privacy_unit.name}"] = policy.unit_budget()
    if policy.analysts:
        accounts[f"analyst:{analyst}"] = policy.analysts[analyst]
    return accounts


def _laplace(analysis: Analysis, price: Price, delta: Decimal, accounts: dict[str, Budget]) -> Plan:
    spent = delta if analysis.threshold is not None else ZERO
    joint = laplace(analysis.sensitivities, price.epsilon)
    return _assemble(analysis, price, joint, threshold_delta=spent, delta=spent, accounts=accounts)


def _gaussian(
    analysis: Analysis, price: Price, delta: Decimal, accounts: dict[str, Budget]
) -> Iterator[Plan]:
    """The Gaussian plan, unless its deviation is beyond what is drawn."""
    spent = delta / 2 if analysis.threshold is not None else ZERO
    joint = gaussian(analysis.sensitivities, price.epsilon, delta - spent)
    if joint is not None:
        yield _assemble(analysis, price, joint, threshold_delta=spent, delta=delta, accounts=accounts)


def _assemble(
    analysis: Analysis,
    price: Price,
    joint: JointNoise,
    *,
    threshold_delta: Decimal,
    delta: Decimal,
    accounts: dict[str, Budget],
) -> Plan:
    keys = tuple(_key_name(analysis, key) for key in analysis.partitioning.keys)
    measured = tuple(
        measurement(measure, part, noise, keys)
        for measure, part, noise in zip(analysis.measures, analysis.sensitivities, joint.parts, strict=True)
    )
    event = joint.event if threshold_delta == 0 else Composed((joint.event, Threshold(threshold_delta)))
    charges = tuple(Charge(account, event, price.epsilon, delta) for account in accounts)
    return Plan(analysis, price, measured, charges, _threshold(analysis, joint, threshold_delta))


def _key_name(analysis: Analysis, key: Key) -> str:
    """A group key as the query calls it."""
    shown = Column("released", key.name, key.expression.type)
    named = (item.name for item in analysis.outer.items if item.expression == shown)
    own = key.expression.name if isinstance(key.expression, Column) else key.name
    return next(named, own)


def _threshold(analysis: Analysis, joint: JointNoise, delta: Decimal) -> int | None:
    """The noisy count of units that shows a private group; floor division only lowers the true count."""
    if analysis.threshold is None:
        return None
    noise = joint.parts[analysis.threshold]
    return tau(
        noise.mechanism,
        unit=-(-UNIT // noise.lattice),
        delta=delta,
        l0=analysis.partitioning.touched,
        minimum=analysis.min_group_units,
    )


def _error(candidate: Plan) -> float:
    """The geometric mean of the half-widths, so that measures of different units compare."""
    return math.fsum(math.log(part.error) for part in candidate.measurements if part.error > 0)
