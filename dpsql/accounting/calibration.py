"""How much noise, and which threshold, does a loss ask for? Every result is rounded towards more noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, log1p, sqrt

from dpsql.accounting.conversion import gaussian_delta, mu_for
from dpsql.accounting.normal import lower_quantile
from dpsql.accounting.tails import (
    discrete_gaussian_tail,
    discrete_laplace_tail,
    gaussian_sum,
    group_share,
)

__all__ = [
    "discrete_gaussian_delta",
    "discrete_gaussian_tail",
    "discrete_gaussian_threshold",
    "discrete_laplace_tail",
    "discrete_laplace_threshold",
    "gaussian_delta",
    "gaussian_sigma",
    "gaussian_sigma_classic",
    "gaussian_threshold",
    "group_share",
    "laplace_threshold",
]


def gaussian_sigma(epsilon: float, delta: float, l2: float = 1.0) -> float:
    """Smallest deviation of continuous Gaussian noise that is (epsilon, delta)-DP at L2 sensitivity `l2`.

    Args:
        epsilon: 0 < epsilon <= 700.
        delta: 0 < delta < 1.
        l2: L2 sensitivity, in the answer's unit; > 0.

    Source: Balle & Wang 2018, Theorem 8 (the analytic Gaussian mechanism).

    >>> round(gaussian_sigma(1.0, 1e-6), 6)
    4.224679
    """
    _check_loss(epsilon, delta)
    if not 0.0 < l2 < float("inf"):
        raise ValueError(f"the sensitivity must be above 0 and finite; got {l2}")
    return l2 / mu_for(epsilon, delta) * (1.0 + 1e-15)


def gaussian_sigma_classic(epsilon: float, delta: float, l2: float = 1.0) -> float:
    """The textbook's deviation, sqrt(2 ln(1.25/delta)) l2 / epsilon; proved for epsilon < 1 only.

    Source: Dwork & Roth, Theorem A.1.
    """
    _check_loss(epsilon, delta)
    if epsilon >= 1.0:
        raise ValueError(f"the classic formula is proved for epsilon < 1 only; got {epsilon}")
    return sqrt(2.0 * log(1.25 / delta)) * l2 / epsilon * (1.0 + 1e-15)


def discrete_gaussian_delta(epsilon: float, variance: float, l2: int = 1) -> float:
    """The exact delta at `epsilon` of one discrete Gaussian of variance parameter `variance`.

    Args:
        epsilon: >= 0.
        variance: s^2 in squared lattice steps, > 0, at most 10^8 (the tails are sums).
        l2: how many lattice steps one unit can move the value, >= 1.

    Source: Canonne, Kamath & Steinke 2020, Theorem 7:
    P[Y > eps s^2/D - D/2] - e^eps P[Y > eps s^2/D + D/2].
    """
    if not 0.0 < variance <= 1e8 or l2 < 1 or epsilon < 0.0:
        raise ValueError("needs epsilon >= 0, 0 < variance <= 1e8 and a sensitivity of at least one step")
    centre, half = Fraction(epsilon) * Fraction(variance) / l2, Fraction(l2, 2)
    rate = 0.5 / variance
    everything = 1.0 + 2.0 * gaussian_sum(rate, 1)
    near, far = (_above(rate, everything, centre - half), _above(rate, everything, centre + half))
    return min(1.0, max(0.0, near - exp(epsilon) * far + 1e-13 * near))


def _above(rate: float, everything: float, x: Fraction) -> float:
    """P[Y > x] of the discrete Gaussian exp(-rate y^2) / everything."""
    first = x.__floor__() + 1
    if first >= 1:
        return gaussian_sum(rate, first) / everything
    return 1.0 - gaussian_sum(rate, 1 - first) / everything


def laplace_threshold(epsilon: float, delta: float, l0: int = 1, minimum: int = 1) -> float:
    """Threshold on unit counts with continuous Laplace noise.

    A group is shown if its noisy count is at least the threshold.

    Args:
        epsilon: loss of all the counts together; the noise has scale l0/epsilon.
        delta: probability that any of the groups present because of one unit only is shown.
        l0: groups one unit can be in.
        minimum: groups with fewer units are dropped before the noise; 1 = none are.
    """
    _check_loss(epsilon, delta)
    share, scale = group_share(delta, l0), l0 / epsilon
    distance = scale * -log(2.0 * share) if share <= 0.5 else scale * (log(2.0) + log1p(-share))
    return minimum + distance + 1e-12 * abs(distance)


def discrete_laplace_threshold(epsilon: float, delta: float, l0: int = 1, minimum: int = 1) -> int:
    """Threshold on unit counts with discrete Laplace noise; arguments as in `laplace_threshold`."""
    _check_loss(epsilon, delta)
    scale = l0 / Fraction(epsilon)
    return minimum + least_step(lambda k: discrete_laplace_tail(scale, k), group_share(delta, l0))


def gaussian_threshold(sigma: float, delta: float, l0: int = 1, minimum: int = 1) -> float:
    """Threshold on unit counts with Gaussian noise; other arguments as in `laplace_threshold`."""
    distance = -sigma * lower_quantile(group_share(delta, l0))
    return minimum + distance + 1e-12 * abs(distance)


def discrete_gaussian_threshold(variance: float, delta: float, l0: int = 1, minimum: int = 1) -> int:
    """Threshold on unit counts with discrete Gaussian noise; arguments as in `laplace_threshold`."""
    if not 0.0 < variance <= 2.0**52:
        raise ValueError(f"the variance must be above 0 and at most 2^52; got {variance}")
    # A rational root from above: more noise than there is, so the tail stays an upper bound.
    sigma = Fraction(sqrt(variance) * (1.0 + 1e-15))
    return minimum + least_step(lambda k: discrete_gaussian_tail(sigma, k), group_share(delta, l0))


def least_step(tail: Callable[[int], float], share: float) -> int:
    """The smallest k >= 1 with tail(k) <= share, for a tail that falls to 0; by doubling and halving."""
    high = 1
    while tail(high) > share:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if tail(middle) > share:
            low = middle
        else:
            high = middle
    return high


def _check_loss(epsilon: float, delta: float) -> None:
    if not 0.0 < epsilon <= 700.0 or not 0.0 < delta < 1.0:
        raise ValueError(f"needs 0 < epsilon <= 700 and 0 < delta < 1; got {epsilon} and {delta}")
