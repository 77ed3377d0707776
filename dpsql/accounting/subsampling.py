"""How much less does a mechanism lose when each unit is in its sample only with some probability?

Poisson sampling: each unit, with all its rows, is in the sample independently with probability q, and nobody
sees who was in it. Neighbours differ by one unit added or removed. All results are rounded towards more loss.
Derivations: docs/proofs/subsampling.md.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from math import ceil, exp, expm1, floor, inf, log, log1p, pi, sqrt
from typing import Final

from dpsql.accounting.conversion import eps_from_rdp, least_order

MAX_ORDER: Final = 1024.0
"""Above this order the unsampled Gaussian bounds the sampled one: the sum would be long and gain little."""

_DECIMALS: Final = Context(prec=60)
_QUANTUM: Final = Decimal("1e-20")
_MARGIN: Final = Decimal("1e-40")
_DIGITS: Final = 37.0
"""ln of the relative error that quadrature and truncation are allowed: e^-37 is below one ulp."""
_LEAST_MOMENT: Final = 1e-5
"""Below it the quadrature of a moment 1 + x loses too many digits of x."""
_POINTS: Final = 20_000
_NEAR: Final = 1e-5


def amplified(probability: Decimal, epsilon: Decimal) -> Decimal:
    """Epsilon of an `epsilon`-DP mechanism on a Poisson sample: ln(1 + q (e^epsilon - 1)).

    Rounded up to 20 decimal places. In decimal arithmetic, so that every machine gets the same digits.

    >>> amplified(Decimal("0.01"), Decimal(1))
    Decimal('0.01703686323617654979')
    """
    growth = _DECIMALS.subtract(_DECIMALS.exp(epsilon), Decimal(1))
    precise = _DECIMALS.ln(_DECIMALS.add(Decimal(1), _DECIMALS.multiply(probability, growth)))
    rounded = _DECIMALS.add(precise, _MARGIN).quantize(_QUANTUM, ROUND_CEILING, _DECIMALS)
    return min(epsilon, rounded)


def unsampled_mu2(noise_multiplier: float, steps: int) -> float:
    """Summed mu^2 of `steps` Gaussians without regard to sampling, which only lowers the loss."""
    return steps / (noise_multiplier * noise_multiplier)


def renyi_subsampled(probability: float, noise_multiplier: float, alpha: float) -> float:
    """Renyi divergence of order `alpha` > 1 of one step of the Poisson-subsampled Gaussian, from above.

    The order's moment is A = E[(1 - q + q r(x))^alpha], x ~ N(0, sigma^2), r(x) = exp((2 x - 1)/(2 sigma^2)),
    and the divergence ln(A)/(alpha - 1). Exact up to rounding at integer orders (a binomial sum of positive
    terms). Between them the lesser of a quadrature with its error bound and of the chord of the convex ln A.

    Source: Mironov, Talwar & Zhang 2019 (arXiv:1908.10530), who also show that the opposite direction is
    never larger; that is checked by quadrature in the tests.
    """
    unsampled = 0.5 * alpha / (noise_multiplier * noise_multiplier)
    if probability >= 1.0 or alpha > MAX_ORDER:
        return unsampled
    low, high = floor(alpha), ceil(alpha)
    moment = integer_moment(probability, noise_multiplier, high)
    if low < high:
        under = integer_moment(probability, noise_multiplier, low)
        moment = (under * (high - alpha) + moment * (alpha - low)) * (1.0 + 1e-14)
        if moment > _LEAST_MOMENT:
            moment = min(moment, quadrature_moment(probability, noise_multiplier, alpha))
    return min(unsampled, moment / (alpha - 1.0) * (1.0 + 1e-15))


def integer_moment(probability: float, noise_multiplier: float, alpha: int) -> float:
    """Upper bound on ln A at an integer order >= 1, 0 < probability < 1.

    A - 1 = sum over k >= 2 of C(alpha, k) (1 - q)^(alpha - k) q^k (exp(k (k - 1)/(2 sigma^2)) - 1): positive
    terms only, so that a small loss keeps its digits.
    """
    if alpha < 2:
        return 0.0
    inside, outside = log(probability), log1p(-probability)
    choose, terms, largest = alpha, [], 0.0
    for k in range(2, alpha + 1):
        choose = choose * (alpha - k + 1) // k
        growth = 0.5 * k * (k - 1) / (noise_multiplier * noise_multiplier)
        chosen = log(choose)
        terms.append(chosen + (alpha - k) * outside + k * inside + _log_expm1(growth))
        largest = max(largest, chosen - (alpha - k) * outside - k * inside + growth)
    peak = max(terms)
    # Each logarithm is off by a few ulp of its parts.
    excess = peak + log(sum(exp(term - peak) for term in terms)) + 2e-15 * (largest + alpha + 8.0)
    return (log1p(exp(excess)) if excess < _DIGITS else excess + exp(-excess)) * (1.0 + 1e-15)


def quadrature_moment(probability: float, noise_multiplier: float, alpha: float) -> float:
    """Upper bound on ln A by the trapezoid rule, any order, 0 < probability < 1; infinite if that takes long.

    In the strip |Im x| <= d, d <= pi sigma^2/2, the integrand is at most exp(d^2/(2 sigma^2)) times its value
    on the line, so that step h errs by at most a factor 1 + 2 exp(d^2/(2 sigma^2))/(exp(2 pi d/h) - 1).
    """
    sigma, inside = noise_multiplier, -log(probability)
    strip = min(0.5 * pi * sigma * sigma, 6.0 * sigma)
    step = 2.0 * pi * strip / (_DIGITS + 0.5 * (strip / sigma) ** 2)
    # What is cut off is below exp(-_DIGITS) of A, which is at least 1 and at least that of everybody sampled.
    growth = 0.5 * alpha * (alpha - 1.0) / (sigma * sigma)
    reach = sigma * sqrt(2.0 * (_DIGITS + min((alpha - 1.0) * inside, growth)))
    points = ceil((2.0 * reach + alpha) / step) + 1
    if points > _POINTS:
        return inf
    logs = [_log_integrand(-reach + step * i, probability, sigma, alpha) for i in range(points)]
    peak = max(logs)
    whole = peak + log(sum(exp(each - peak) for each in logs)) + log(step / (sigma * sqrt(2.0 * pi)))
    return whole + 2e-15 * (points + abs(peak) + alpha * inside + growth + 8.0)


def _log_integrand(x: float, probability: float, sigma: float, alpha: float) -> float:
    ratio = (x - 0.5) / (sigma * sigma)
    if ratio > 0.0:
        mixed = ratio + log(probability + (1.0 - probability) * exp(-ratio))
    else:
        mixed = log1p(probability * expm1(ratio))
    return alpha * mixed - 0.5 * (x / sigma) ** 2


def _log_expm1(x: float) -> float:
    return log(expm1(x)) if x < _DIGITS else x


def subsampled_epsilon(
    probability: float, noise_multiplier: float, steps: int, delta: float
) -> tuple[float, float]:
    """(epsilon at `delta`, its order) of `steps` steps of the Poisson-subsampled Gaussian.

    The best order found; any order is valid, so a search that misses the best returns more loss.

    >>> epsilon, order = subsampled_epsilon(256 / 60000, 1.1, 1000, 1e-5)
    >>> round(epsilon, 4), round(order, 1)
    (0.875, 12.4)
    """
    alpha, epsilon = least_order(
        lambda alpha: epsilon_at_order(probability, noise_multiplier, steps, delta, alpha)
    )
    return epsilon, alpha


def whole_order_epsilon(
    probability: float, noise_multiplier: float, steps: int, delta: float
) -> tuple[float, float]:
    """`subsampled_epsilon` with integer orders from 2 to 64 only, as figures in the literature often are.

    >>> epsilon, order = whole_order_epsilon(256 / 60000, 1.1, 1000, 1e-5)
    >>> round(epsilon, 4), order
    (0.8895, 12.0)
    """
    return min(
        (epsilon_at_order(probability, noise_multiplier, steps, delta, float(alpha)), float(alpha))
        for alpha in range(2, 65)
    )


def epsilon_at_order(
    probability: float, noise_multiplier: float, steps: int, delta: float, alpha: float
) -> float:
    """Epsilon at `delta` of `steps` steps of the Poisson-subsampled Gaussian by one order `alpha` > 1."""
    return eps_from_rdp(alpha, steps * renyi_subsampled(probability, noise_multiplier, alpha), delta)


def noise_multiplier_for(probability: float, steps: int, epsilon: float, delta: float) -> float:
    """About the smallest noise multiplier whose `subsampled_epsilon` is at most `epsilon`, from above.

    Args:
        probability: of a unit to be in one step's sample, 0 < probability <= 1.
        steps: how many steps, >= 1.
        epsilon: target, > 0.
        delta: target, 0 < delta < 1.

    Raises:
        ValueError: no noise multiplier up to 10^6 is enough.
    """

    def enough(noise_multiplier: float) -> bool:
        return subsampled_epsilon(probability, noise_multiplier, steps, delta)[0] <= epsilon

    high = 1.0
    while not enough(high):
        high *= 2.0
        if high > 1e6:
            raise ValueError(f"no noise multiplier up to 10^6 reaches epsilon {epsilon} at delta {delta}")
    low = 0.5 * high if high > 1.0 else 0.0
    while high - low > _NEAR * high:
        middle = 0.5 * (low + high)
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def noise_deviation(noise_multiplier: float, clip: float, batch: int) -> float:
    """Standard deviation of each coordinate of an average of `batch` vectors of length at most `clip`.

    >>> round(noise_deviation(984.0, clip=1.0, batch=256), 3)
    3.844
    """
    return noise_multiplier * clip / batch
