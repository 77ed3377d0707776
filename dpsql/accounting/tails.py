"""How likely is discrete noise to reach k? Upper bounds, for thresholds."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, log1p
from typing import Final

from dpsql.accounting.normal import normal_upper

_UP: Final = 1.0 + 1e-12
_TINY: Final = 5e-324
_EXACT_SIGMA: Final = 64
"""Up to this deviation tails are summed term by term; above, a normal tail bounds the sum."""


def discrete_laplace_tail(scale: Fraction, k: int) -> float:
    """Upper bound on P[X >= k] for the discrete Laplace law, P[X = x] proportional to exp(-|x|/scale).

    Closed form: exp(-k/scale) / (1 + exp(-1/scale)) for k >= 1; the rest by symmetry.
    """
    if scale <= 0:
        raise ValueError(f"the scale must be above 0; got {scale}")
    if k >= 1:
        return min(1.0, _laplace_tail(scale, k) * _UP + _TINY)
    return min(1.0, 1.0 - _laplace_tail(scale, 1 - k) / _UP + 1e-15)


def _laplace_tail(scale: Fraction, k: int) -> float:
    return exp(-_ratio(Fraction(k) / scale)) / (1.0 + exp(-_ratio(1 / scale)))


def discrete_gaussian_tail(sigma: Fraction, k: int) -> float:
    """Upper bound on P[X >= k] for the discrete Gaussian law, P[X = x] proportional to exp(-x^2/(2 sigma^2)).

    For k <= 0 the bound is 1; for sigma <= 64 it is the sum itself. Above: terms beyond sigma are convex in
    x, so each is at most its integral over [x - 1/2, x + 1/2]; nearer ones at most that over [x - 1, x]. The
    normaliser is at least sigma sqrt(2 pi) (Poisson summation). So P <= P[N(0,1) >= (k - 1/2)/sigma], or
    (k - 1)/sigma.
    """
    if sigma <= 0:
        raise ValueError(f"the deviation must be above 0; got {sigma}")
    if k <= 0:
        return 1.0
    if sigma <= _EXACT_SIGMA:
        return _summed_tail(sigma, k)
    start = Fraction(k) - Fraction(1, 2)
    if start < sigma:
        start = Fraction(k - 1)
    return normal_upper(_ratio(start / sigma))


def _summed_tail(sigma: Fraction, k: int) -> float:
    rate = float(1 / (2 * sigma * sigma))
    tail = gaussian_sum(rate, k)
    return min(1.0, tail / (1.0 + 2.0 * gaussian_sum(rate, 1)) * _UP + _TINY)


def gaussian_sum(rate: float, first: int) -> float:
    """Sum over x >= first of exp(-rate x^2), first >= 0, to a relative 1e-14."""
    total, x = 0.0, first
    while True:
        term = exp(-min(rate * x * x, 2000.0))
        total += term
        # Later terms fall at least geometrically, by exp(-rate (2x + 1)) a step.
        following = exp(-min(rate * (2 * x + 1), 700.0))
        if term <= 1e-17 * total * -expm1(-min(rate * (2 * x + 1), 700.0)) / max(following, 1e-300):
            return total
        x += 1


def group_share(delta: float, l0: int) -> float:
    """The probability d that each of `l0` groups may have so that all together stay within `delta`.

    1 - (1 - delta)^(1/l0), written so that no digit of a small delta is lost; rounded down.
    """
    if not 0.0 < delta < 1.0 or l0 < 1:
        raise ValueError(f"a threshold needs 0 < delta < 1 and l0 >= 1; got {delta} and {l0}")
    return -expm1(log1p(-delta) / l0) * (1.0 - 1e-15)


def _ratio(value: Fraction) -> float:
    """A float near `value`; huge ones are cut, which only raises the tail."""
    return float(min(value, Fraction(10**6)))
