"""How is Gaussian mass computed without losing the tails?"""

from __future__ import annotations

from math import erf, erfc, exp, expm1, inf, log, pi, sqrt
from statistics import NormalDist
from typing import Final

_STANDARD: Final = NormalDist()
_ROOT_2: Final = sqrt(2.0)
_ROOT_2_PI: Final = sqrt(2.0 * pi)


def lower_tail(x: float) -> float:
    """P[N(0,1) <= x], relatively accurate for negative `x`."""
    return 0.5 * erfc(-x / _ROOT_2)


def lower_quantile(p: float) -> float:
    """The x with P[N(0,1) <= x] = p, 0 < p < 1, relatively accurate for small `p`."""
    return _STANDARD.inv_cdf(p)


def central_quantile(mass: float) -> float:
    """The x >= 0 with P[|N(0,1)| <= x] = mass, 0 <= mass < 1, relatively accurate for small `mass`.

    One Newton step on ``erf``, which is accurate near 0 where the quantile of (1 + mass)/2 is not.
    """
    x = lower_quantile(0.5 + 0.5 * mass) / _ROOT_2
    x -= (erf(x) - mass) * 0.5 * sqrt(pi) * exp(x * x)
    return x * _ROOT_2


def interval_mass(centre: float, width: float) -> float:
    """P[|N(0,1) - centre| <= width/2], relatively accurate for `width` <= 0.05 and |centre| width <= 0.2.

    Taylor series in the half-width: the Hermite polynomials of degree 2, 4 and 6 at the centre.
    """
    square, h2 = centre * centre, 0.25 * width * width
    second = square - 1.0
    fourth = square * (square - 6.0) + 3.0
    sixth = square * (square * (square - 15.0) + 45.0) - 15.0
    series = 1.0 + h2 * (second / 6.0 + h2 * (fourth / 120.0 + h2 * sixth / 5040.0))
    return width * exp(-0.5 * square) / _ROOT_2_PI * series


def hockey_stick(t: float, v: float) -> float:
    """H_t(N(mu,1) || N(0,1)) with mu^2 = v: the smallest delta of a sqrt(v)-GDP mechanism at epsilon = t.

    Args:
        t: threshold of the privacy loss, any sign, at most 700.
        v: squared Gaussian parameter, >= 0; at 0 the value is (1 - e^t)_+.

    Source: Balle & Wang 2018, Theorem 8: Phi(m/2 - t/m) - e^t Phi(-m/2 - t/m), m = sqrt(v).
    """
    if v <= 0.0:
        return -expm1(t) if t < 0.0 else 0.0
    m = sqrt(v)
    if m <= 0.05 and abs(t) <= 0.1:
        mass = interval_mass(-t / m, m) - expm1(t) * lower_tail(-0.5 * m - t / m)
    else:
        mass = lower_tail(0.5 * m - t / m) - _scaled_tail(t, m)
    return min(1.0, max(0.0, mass))


def hockey_stick_complement(t: float, v: float) -> float:
    """1 - `hockey_stick`, a sum of positive terms and so relatively accurate where that is near 1."""
    if v <= 0.0:
        return 1.0 if t >= 0.0 else exp(t)
    m = sqrt(v)
    return min(1.0, lower_tail(t / m - 0.5 * m) + _scaled_tail(t, m))


def hockey_stick_error(t: float, v: float) -> float:
    """Bound on the float error of `hockey_stick` for v > 0.

    A tail's relative error is a few ulp plus the ulp of its argument times the square of the argument.
    """
    m = sqrt(v)
    far = 0.5 * m + abs(t) / m
    mass = lower_tail(0.5 * m - t / m) + _scaled_tail(t, m)
    return 1e-15 * (4.0 + abs(t) + min(far * far, 1500.0)) * mass


def _scaled_tail(t: float, m: float) -> float:
    tail = lower_tail(-0.5 * m - t / m)
    return exp(t + log(tail)) if tail > 0.0 else 0.0


def normal_upper(x: float) -> float:
    """Upper bound on P[N(0,1) >= x], for any x."""
    return min(1.0, lower_tail(-x) * (1.0 + 1e-12) + 5e-324) if x < inf else 5e-324
