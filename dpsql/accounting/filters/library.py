"""Which single-currency filters can the portfolio be compared with, or replaced by?

Each is a portfolio of one or a few rules whose deltas, with the slack, add up to the budget's, so each gives
the same guarantee. Never "some order fits" at the full delta for every order: docs/proofs/portfolio.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from dpsql.accounting.conversion import mu_for, rdp_budget, rho_for
from dpsql.accounting.filters.additive import Additive, Concentrated, Currency, GaussianDp, Renyi
from dpsql.accounting.filters.portfolio import AnyRule, Portfolio, check_budget, split
from dpsql.accounting.filters.remainder import Residue
from dpsql.accounting.rounding import EXACT, float_down


def open_concentrated(epsilon: Decimal, delta: Decimal, *, slack_share: Decimal = Decimal(0)) -> Portfolio:
    """An account that adds up rho, converted once by the best order."""
    conversion = _conversion(epsilon, delta, slack_share)
    rho = rho_for(float_down(epsilon), conversion)
    return _single(epsilon, delta, slack_share, _additive("zcdp", Concentrated(), rho))


def open_gaussian_dp(epsilon: Decimal, delta: Decimal, *, slack_share: Decimal = Decimal(0)) -> Portfolio:
    """An account that adds up mu^2, pure events at their own mu^2."""
    return _single(
        epsilon, delta, slack_share, _additive("gdp", GaussianDp(), _square(epsilon, delta, slack_share))
    )


def open_residue(epsilon: Decimal, delta: Decimal, *, slack_share: Decimal = Decimal(0)) -> Portfolio:
    """An account with the residue rule alone, at the whole delta of conversion."""
    v = _square(epsilon, delta, slack_share)
    return _single(epsilon, delta, slack_share, Residue(v, v))


def open_orders(
    epsilon: Decimal, delta: Decimal, orders: Mapping[float, Decimal], *, slack_share: Decimal = Decimal(0)
) -> Portfolio:
    """An account with one Renyi rule per order.

    Args:
        epsilon: budget.
        delta: budget, > 0.
        orders: order alpha > 1 -> its share of the delta of conversion; the shares add up to at most 1.
        slack_share: as in `Portfolio.open`.

    Raises:
        ValueError: a share or an order is out of range, or no order has room.
    """
    check_budget(epsilon, delta, slack_share)
    if any(share <= 0 for share in orders.values()) or sum(orders.values()) > 1:
        raise ValueError("the orders' shares of delta must be above 0 and add up to at most 1")
    if any(not 1.0 < alpha <= 1e10 for alpha in orders):
        raise ValueError("an order must be above 1 and at most 1e10")
    slack, conversion = split(delta, slack_share)
    budgets = {
        alpha: rdp_budget(alpha, float_down(epsilon), float_down(EXACT.multiply(conversion, share)))
        for alpha, share in orders.items()
    }
    live = tuple(
        _additive(f"rdp({alpha:g})", Renyi(alpha), room) for alpha, room in budgets.items() if room > 0.0
    )
    if not live:
        raise ValueError("no order has room at this budget")
    return Portfolio(epsilon, delta, slack_share, live, slack)


def _additive(name: str, currency: Currency, budget: float) -> Additive:
    if not budget > 0.0:
        raise ValueError(f"the budget has no room for a {name} rule")
    return Additive(name, currency, budget, budget)


def _conversion(epsilon: Decimal, delta: Decimal, slack_share: Decimal) -> float:
    check_budget(epsilon, delta, slack_share)
    if not delta:
        raise ValueError("this filter needs a delta above 0")
    return float_down(split(delta, slack_share)[1])


def _square(epsilon: Decimal, delta: Decimal, slack_share: Decimal) -> float:
    mu = mu_for(float_down(epsilon), _conversion(epsilon, delta, slack_share))
    return mu * mu * (1.0 - 1e-15)


def _single(epsilon: Decimal, delta: Decimal, slack_share: Decimal, rule: AnyRule) -> Portfolio:
    return Portfolio(epsilon, delta, slack_share, (rule,), split(delta, slack_share)[0])
