"""Which (epsilon, delta) does a loss in another currency stand for, and back?

Every result is rounded towards more loss: an epsilon or delta up, a budget (rho, mu, divergence) down.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, log1p, sqrt
from typing import Final

from dpsql.accounting.normal import hockey_stick, hockey_stick_error

_GOLDEN: Final = (sqrt(5.0) - 1.0) / 2.0
_SAFE: Final = 1e-15
_UNDERFLOW: Final = 1e-290
"""Below it a tail loses digits to denormal numbers; no delta of a budget is so small."""


def eps_from_rdp(alpha: float, r: float, delta: float) -> float:
    """Epsilon at `delta` of a mechanism with Renyi divergence `r` of order `alpha` > 1.

    Source: Canonne, Kamath & Steinke 2020, Proposition 12: r + ln(1 - 1/alpha) - ln(alpha delta)/(alpha - 1).
    """
    gain, cost = log1p(-1.0 / alpha), -log(alpha * delta) / (alpha - 1.0)
    return max(0.0, r + gain + cost + 4.0 * _SAFE * (r - gain + abs(cost)))


def rdp_budget(alpha: float, epsilon: float, delta: float) -> float:
    """The Renyi divergence of order `alpha` that (epsilon, delta) leaves room for; may be negative.

    The inverse of `eps_from_rdp`.
    """
    gain, cost = log1p(-1.0 / alpha), -log(alpha * delta) / (alpha - 1.0)
    return epsilon - gain - cost - 4.0 * _SAFE * (epsilon - gain + abs(cost))


def eps_from_zcdp(rho: float, delta: float) -> float:
    """Epsilon at `delta` of a `rho`-zCDP mechanism: the best order of `eps_from_rdp` with r = alpha rho."""
    if rho <= 0.0:
        return 0.0
    return least_order(lambda alpha: eps_from_rdp(alpha, alpha * rho, delta))[1]


def eps_from_zcdp_classic(rho: float, delta: float) -> float:
    """Epsilon at `delta` of a `rho`-zCDP mechanism, the older and looser way.

    Source: Bun & Steinke 2016 (arXiv:1605.02065v1), Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).
    """
    return (rho + 2.0 * sqrt(rho * -log(delta))) * (1.0 + 4.0 * _SAFE)


def best_order(epsilon: float, delta: float) -> float:
    """The order alpha whose budget `rdp_budget(alpha)/alpha` admits the most zCDP."""
    return least_order(lambda alpha: -rdp_budget(alpha, epsilon, delta) / alpha)[0]


def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho with `eps_from_zcdp` <= epsilon: the maximum of rdp_budget(alpha)/alpha; 0 if none."""
    alpha = best_order(epsilon, delta)
    return max(0.0, rdp_budget(alpha, epsilon, delta) / alpha * (1.0 - _SAFE))


def rho_classic(epsilon: float, delta: float) -> float:
    """The inverse of `eps_from_zcdp_classic`: (sqrt(L + epsilon) - sqrt L)^2 with L = ln(1/delta)."""
    level = -log(delta)
    root = epsilon / (sqrt(level + epsilon) + sqrt(level))
    return root * root * (1.0 - 8.0 * _SAFE)


def delta_gdp(epsilon: float, mu: float) -> float:
    """The smallest delta of a `mu`-Gaussian-DP mechanism at `epsilon`, rounded up.

    Source: Balle & Wang 2018, Theorem 8.
    """
    if mu <= 0.0:
        return 0.0
    v = mu * mu
    return min(1.0, hockey_stick(epsilon, v) + hockey_stick_error(epsilon, v) + _UNDERFLOW)


def gaussian_delta(epsilon: float, sigma: float, l2: float = 1.0) -> float:
    """The smallest delta at `epsilon` of continuous Gaussian noise of deviation `sigma`, sensitivity `l2`."""
    return delta_gdp(epsilon, l2 / sigma * (1.0 + _SAFE))


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu that is (epsilon, delta)-DP, 0 < delta < 1, 0 < epsilon <= 700."""
    high = 1.0
    while delta_gdp(epsilon, high) <= delta:
        high *= 2.0
    return bisect_down(lambda mu: delta_gdp(epsilon, mu) <= delta, 0.0, high)


def eps_from_gdp(mu: float, delta: float) -> float:
    """The smallest epsilon of a `mu`-Gaussian-DP mechanism at `delta`, rounded up; infinite above 700."""
    if delta_gdp(0.0, mu) <= delta:
        return 0.0
    if delta_gdp(700.0, mu) > delta:
        return inf
    return -bisect_down(lambda negated: delta_gdp(-negated, mu) <= delta, -700.0, 0.0)


def bisect_down(holds: Callable[[float], bool], low: float, high: float) -> float:
    """A number near the largest for which `holds`, never one for which it does not.

    `holds` is true at `low`, false at `high` and monotone between.
    """
    while high - low > 1e-15 * max(abs(low), abs(high)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def least_order(value: Callable[[float], float]) -> tuple[float, float]:
    """The order alpha in (1, 1e10) of about the least value, and the value.

    A grid in ln(alpha - 1), then golden sections around its best point. A search that misses the least value
    returns a larger one, and any order is valid.
    """
    step = 0.25
    grid = [-7.0 + step * i for i in range(121)]
    centre = min(grid, key=lambda x: value(1.0 + exp(x)))
    low, high = centre - step, centre + step
    for _ in range(40):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if value(1.0 + exp(left)) <= value(1.0 + exp(right)):
            high = right
        else:
            low = left
    alpha = 1.0 + exp(0.5 * (low + high))
    return alpha, value(alpha)
