"""Adversaries who choose each next step after seeing the loss: what delta do they reach?

The adversary sees the realised loss l of a first Gaussian step of size v (normal, mean v/2, variance v)
and then exhausts whichever rule pays most. The expected hockey stick over l is its true delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from math import exp, expm1, log, log1p, pi, sqrt

import pytest

from dpsql.accounting import Gaussian, Portfolio, Pure
from dpsql.accounting.conversion import best_order, bisect_down, mu_for, rdp_budget
from dpsql.accounting.filters import Additive, Basic, Renyi, Residue
from dpsql.accounting.normal import hockey_stick

EPSILON, DELTA = 1.0, 1e-6


def _expected(gain: Callable[[float], float], v: float) -> float:
    """Mean of `gain` over the realised loss of a Gaussian step, by the trapezoid rule."""
    deviation, nodes = sqrt(v), 2000
    step = 20.0 * deviation / nodes
    losses = [0.5 * v + deviation * 10.0 * (2.0 * i / nodes - 1.0) for i in range(nodes + 1)]
    density = 1.0 / sqrt(2.0 * pi * v)
    return sum(density * exp(-0.5 * (loss - 0.5 * v) ** 2 / v) * gain(loss) for loss in losses) * step


def _two_point_divergence(p: float, loss: float, alpha: float) -> float:
    """The larger Renyi divergence, of both directions, of the pair (p, 1-p), (p e^-loss, 1 - p e^-loss)."""
    q = p * exp(-loss)
    rest = log1p(-p) - log1p(-q)
    forth = (1.0 - q) * exp(alpha * rest) + q * exp(alpha * loss)
    back = (1.0 - p) * exp(-alpha * rest) + p * exp(-alpha * loss)
    return log(max(forth, back)) / (alpha - 1.0)


def _exhaust_renyi(alpha: float, rest: float, target: float) -> float:
    """Most delta that one step of Renyi budget `rest` adds when the loss still lacks `target` to epsilon.

    A step that has the loss target + ln(alpha/(alpha - 1)) with the largest probability the budget allows.
    """
    loss = target + log(alpha / (alpha - 1.0))
    if rest < 0.0 or loss <= 0.0:
        return 0.0
    p = bisect_down(lambda p: _two_point_divergence(p, loss, alpha) <= rest, 0.0, 1.0 - 1e-12)
    return p * -expm1(target - loss)


def _adaptive_delta(orders: Iterable[tuple[float, float]], v: float) -> float:
    """True delta of an adversary against "some order alpha is within its budget"."""
    rests = [(alpha, budget - 0.5 * alpha * v) for alpha, budget in orders]
    return _expected(
        lambda loss: max(_exhaust_renyi(alpha, rest, EPSILON - loss) for alpha, rest in rests), v
    )


def test_some_order_fits_at_full_delta_for_each_order_is_not_private() -> None:
    unsplit = [(alpha, rdp_budget(alpha, EPSILON, DELTA)) for alpha in (18.0, 45.0)]

    assert _adaptive_delta(unsplit, 0.006) == pytest.approx(1.6150425317225757e-6, rel=0.02)


def test_one_order_fixed_beforehand_is_private_and_tight() -> None:
    alone = [(22.0, rdp_budget(22.0, EPSILON, DELTA))]

    assert 0.95 * DELTA < _adaptive_delta(alone, 0.006) <= DELTA * (1.0 + 1e-6)


def test_orders_that_share_delta_are_private() -> None:
    shared = [(alpha, rdp_budget(alpha, EPSILON, 0.5 * DELTA)) for alpha in (18.0, 45.0)]

    assert _adaptive_delta(shared, 0.006) <= DELTA


def _attack(account: Portfolio, v: float) -> float:
    """True delta of a Gaussian step, then whichever rule's exhaustion pays most at the realised loss."""
    after = account.step(Gaussian(v))
    if after is None:
        return 0.0

    def gain(loss: float) -> float:
        return max(_exhaust(rule, EPSILON - loss) for rule in after.live)

    return _expected(gain, v)


def _exhaust(rule: object, target: float) -> float:
    match rule:
        case Residue(rest=rest):
            return hockey_stick(target, rest)
        case Additive(currency=Renyi(alpha), rest=rest):
            return _exhaust_renyi(alpha, rest, target)
        case Basic(rest=left):
            loss = float(left)
            return max(0.0, -expm1(target - loss)) / (1.0 + exp(-loss))
        case _:
            raise AssertionError(rule)


def _worst(account: Portfolio) -> float:
    return max(_attack(account, v) for v in (0.001, 0.003, 0.006, 0.012, 0.025, 0.04))


def test_the_portfolio_keeps_its_delta_against_an_adaptive_adversary() -> None:
    account = Portfolio.open(Decimal(1), Decimal("1e-6"))

    assert 0.85 * DELTA < _worst(account) <= DELTA


def _stopping(account: Portfolio, eps0: float, steps: int) -> float:
    """True delta of randomised responses of `eps0`, stopped at the best moment to exhaust the best rule."""
    states = [account]
    while len(states) <= steps and (after := states[-1].step(Pure(Decimal(str(eps0))))) is not None:
        states.append(after)
    truth = 1.0 / (1.0 + exp(-eps0))
    worth: dict[int, float] = {}
    for done, state in reversed(list(enumerate(states))):
        ahead = worth
        worth = {}
        for lead in range(-done, done + 1, 2):
            now = max(_exhaust(rule, EPSILON - lead * eps0) for rule in state.live)
            later = truth * ahead.get(lead + 1, 0.0) + (1.0 - truth) * ahead.get(lead - 1, 0.0)
            worth[lead] = max(now, later)
    return worth[0]


@pytest.mark.parametrize(("eps0", "steps"), [(0.01, 600), (0.02, 100), (0.06, 8), (0.2, 5)])
def test_no_moment_to_stop_helps_the_adversary(eps0: float, steps: int) -> None:
    account = Portfolio.open(Decimal(1), Decimal("1e-6"))

    assert 0.85 * DELTA < _stopping(account, eps0, steps) <= DELTA


def test_a_rule_that_came_back_to_life_would_not_be_private() -> None:
    account = Portfolio.open(Decimal(1), Decimal("1e-6"))
    truth = 1.0 / (1.0 + exp(-0.5))

    # One step of 0.5 ends the residue rule; here it is still there, untouched.
    reached = truth * max(_exhaust(rule, EPSILON - 0.5) for rule in account.live)

    assert reached > 10.0 * DELTA


def test_a_portfolio_with_the_full_delta_for_every_rule_would_not_be_private() -> None:
    v = mu_for(EPSILON, DELTA) ** 2
    alpha = 1.5 * best_order(EPSILON, DELTA)
    room = rdp_budget(alpha, EPSILON, DELTA)
    fresh = Portfolio.open(Decimal(1), Decimal("1e-6"))
    planted = Portfolio(
        fresh.epsilon,
        fresh.delta,
        fresh.slack_share,
        (Residue(v, v), Additive("rdp", Renyi(alpha), room, room)),
        fresh.slack,
    )

    assert _worst(planted) > 1.15 * DELTA
