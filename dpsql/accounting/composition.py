"""What do many releases cost together, when all are known beforehand?

For reports and comparisons; accounts, whose queries are chosen adaptively, are guarded by `filters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, exp, expm1, inf, lgamma, log, log1p, sqrt, tanh
from typing import Final

from dpsql.accounting.conversion import bisect_down
from dpsql.accounting.normal import hockey_stick

_SPREAD: Final = 14.0
"""Deviations of the binomial that are summed; the rest has mass below 2 exp(-2 * 14^2)."""
_UP: Final = 1.0 + 1e-9
_CELLS: Final = 20_000
_DUST: Final = 1e-30


def basic(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) of `k` mechanisms that are each (epsilon, delta)-DP."""
    return k * epsilon, k * delta


def drv_advanced(k: int, epsilon: float, delta: float, delta_prime: float) -> tuple[float, float]:
    """(epsilon, delta) of `k` such mechanisms by advanced composition.

    Source: Dwork, Rothblum & Vadhan 2010; Dwork & Roth, Theorem 3.20:
    sqrt(2 k ln(1/delta')) eps + k eps (e^eps - 1), k delta + delta'.
    """
    total = sqrt(2.0 * k * -log(delta_prime)) * epsilon + k * epsilon * expm1(epsilon)
    return total, k * delta + delta_prime


def drv_advanced_inverse(k: int, epsilon: float, delta_prime: float) -> float:
    """The largest epsilon of each of `k` mechanisms whose `drv_advanced` total is at most `epsilon`."""
    return bisect_down(lambda each: drv_advanced(k, each, 0.0, delta_prime)[0] <= epsilon, 0.0, epsilon)


def kov_eps(k: int, epsilon: float, delta: float, delta_total: float) -> float:
    """The optimal epsilon at `delta_total` of `k` mechanisms that are each (epsilon, delta)-DP.

    Source: Kairouz, Oh & Viswanath 2015: 1 - delta_total = (1 - delta)^k (1 - d), where d is the delta of
    `k` randomised responses.
    """
    share = -expm1(log1p(-delta_total) - k * log1p(-delta))
    if share <= 0.0:
        return k * epsilon if delta_total >= k * delta else float("inf")
    if optimal_delta(k, epsilon, 0.0, 0.0) <= share:
        return 0.0
    return -bisect_down(lambda total: optimal_delta(k, epsilon, 0.0, -total) <= share, -k * epsilon, 0.0)


def kov_inverse(k: int, epsilon: float, delta: float, delta_total: float) -> float:
    """The largest epsilon of each of `k` mechanisms whose `kov_eps` at `delta_total` is at most `epsilon`.

    0.0 if none is, because `delta_total` has no room for `k` deltas.
    """
    share = -expm1(log1p(-delta_total) - k * log1p(-delta))
    if share < 0.0:
        return 0.0
    return bisect_down(lambda each: optimal_delta(k, each, 0.0, epsilon) <= share, epsilon / k, 2.0 * epsilon)


def heterogeneous_advanced(steps: Sequence[tuple[float, float]], delta_prime: float) -> tuple[float, float]:
    """(epsilon, delta) of mechanisms that are each (eps_i, delta_i)-DP, 0 < delta_prime < 1.

    The loss of randomised response lies in [-eps_i, eps_i] with mean eps_i tanh(eps_i/2). So by Hoeffding the
    sum is above sum eps_i tanh(eps_i/2) + sqrt(2 ln(1/delta') sum eps_i^2) with probability at most delta',
    and it is never above the sum of the eps_i.
    """
    mean = sum(epsilon * tanh(0.5 * epsilon) for epsilon, _ in steps)
    squares = sum(epsilon * epsilon for epsilon, _ in steps)
    total = min(mean + sqrt(2.0 * -log(delta_prime) * squares), sum(epsilon for epsilon, _ in steps))
    return total * _UP, min(1.0, delta_prime + sum(delta for _, delta in steps))


def heterogeneous_delta(responses: Mapping[float, int], mu2: float, epsilon_total: float) -> float:
    """Upper bound on the delta at `epsilon_total` of randomised responses and Gaussians of summed `mu2`.

    Args:
        responses: epsilon of a randomised response -> how many there are.
        mu2: summed squares of the Gaussians, >= 0.
        epsilon_total: >= 0.

    Losses are rounded up to a lattice, once for each different epsilon, and weights below 1e-30 count as
    delta: close to the exact delta (for one epsilon that is `optimal_delta`) and never below it.
    """
    return _delta(_loss_law(responses), mu2, epsilon_total)


def heterogeneous_epsilon(responses: Mapping[float, int], mu2: float, delta: float) -> float:
    """The epsilon at which `heterogeneous_delta` is at most `delta`, from above; infinite above 700."""
    law = _loss_law(responses)
    if _delta(law, mu2, 0.0) <= delta:
        return 0.0
    if _delta(law, mu2, 700.0) > delta:
        return inf
    return -bisect_down(lambda negated: _delta(law, mu2, -negated) <= delta, -700.0, 0.0)


_Law = tuple[float, Mapping[int, float], float]
"""(lattice step, weight of each loss in steps, weight left out)."""


def _loss_law(responses: Mapping[float, int]) -> _Law:
    reach = sum(2.0 * epsilon * min(count, _SPREAD * sqrt(count)) for epsilon, count in responses.items())
    step = reach / _CELLS if reach else 1.0
    law, lost = {0: 1.0}, 0.0
    for epsilon, count in responses.items():
        group, beyond = _group_law(epsilon, count, step)
        mixed: dict[int, float] = {}
        for move, weight in group.items():
            for place, mass in law.items():
                mixed[place + move] = mixed.get(place + move, 0.0) + mass * weight
        law = {place: mass for place, mass in mixed.items() if mass >= _DUST}
        lost += beyond + sum(mass for mass in mixed.values() if mass < _DUST)
    return step, law, lost


def _group_law(epsilon: float, count: int, step: float) -> tuple[Mapping[int, float], float]:
    """(weight of each rounded loss of `count` equal responses, weight left out)."""
    law: dict[int, float] = {}
    lost = 0.0
    for lies in _likely_lies(count, epsilon):
        weight = _weight(count, lies, epsilon)
        if weight < _DUST:
            lost += weight
        else:
            move = ceil((count - 2 * lies) * epsilon / step)
            law[move] = law.get(move, 0.0) + weight
    return law, lost


def _delta(law: _Law, mu2: float, epsilon_total: float) -> float:
    step, weights, lost = law
    total = sum(mass * hockey_stick(epsilon_total - place * step, mu2) for place, mass in weights.items())
    return min(1.0, total * _UP + lost)


def optimal_delta(k: int, epsilon: float, mu2: float, epsilon_total: float) -> float:
    """The exact delta at `epsilon_total` of `k` randomised responses and Gaussians of summed `mu2`.

    Randomised response is the worst `epsilon`-DP mechanism, so no non-adaptive accountant can admit more.
    The losses of the responses are (k - 2i) epsilon with binomial weights; what remains is a Gaussian's.
    """
    total = 0.0
    for lies in _likely_lies(k, epsilon):
        total += _weight(k, lies, epsilon) * hockey_stick(epsilon_total - (k - 2 * lies) * epsilon, mu2)
    return min(1.0, total * _UP)


def _likely_lies(k: int, epsilon: float) -> range:
    """All numbers of lies among `k` responses but for a mass of 2 exp(-2 * 14^2)."""
    centre, spread = k / (1.0 + exp(epsilon)), _SPREAD * sqrt(k) + 1.0
    return range(max(0, int(centre - spread)), min(k, int(centre + spread)) + 1)


def _weight(k: int, lies: int, epsilon: float) -> float:
    whole = lgamma(k + 1)
    choices = whole - lgamma(lies + 1) - lgamma(k - lies + 1)
    # Logarithms of factorials are off by a few ulp of themselves.
    return exp(choices - k * log1p(exp(-epsilon)) - lies * epsilon) * (1.0 + 2e-15 * whole)


def parallel(parts: Sequence[tuple[float, float]], touched: int = 1) -> tuple[float, float]:
    """(epsilon, delta) of releases on disjoint parts of the units, when neighbours differ in `touched` parts.

    The sums of the `touched` largest: 1 for a unit added or removed within one part; 2 for a unit replaced,
    which may leave one part and enter another; c for units spread over c parts.
    """
    if touched < 1:
        raise ValueError(f"neighbours differ in at least one part; got {touched}")
    epsilons = sorted((epsilon for epsilon, _ in parts), reverse=True)
    deltas = sorted((delta for _, delta in parts), reverse=True)
    return sum(epsilons[:touched]), sum(deltas[:touched])


def group_loss(size: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) for `size` units together, of a mechanism that is (epsilon, delta)-DP for one.

    One unit after the other: P_0 <= e^eps P_1 + delta <= ..., so size * eps and
    delta (e^(size eps) - 1)/(e^eps - 1), at most 1.

    >>> group_loss(3, 0.1, 0.0)
    (0.30000000000000004, 0.0)
    """
    _check_group(size)
    total = size * epsilon
    grown = log(delta) + log(expm1(total)) - log(expm1(epsilon)) if delta and total < 700.0 else inf
    return total, min(1.0, exp(min(grown, 0.0)) * _UP) if delta else 0.0


def group_rho(size: int, rho: float) -> float:
    """The rho for `size` units together: size^2 rho (Bun & Steinke 2016, arXiv:1605.02065v1)."""
    _check_group(size)
    return size * size * rho


def group_mu(size: int, mu: float) -> float:
    """The Gaussian-DP parameter for `size` units together: size mu (the means of a Gaussian add up)."""
    _check_group(size)
    return size * mu


def _check_group(size: int) -> None:
    if size < 1:
        raise ValueError(f"a group has at least one unit; got {size}")


def whitehouse_eps(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon at `delta` of adaptively chosen pure mechanisms; for comparison only.

    Source: Whitehouse, Ramdas, Rogers & Wu 2023 (arXiv:2203.05481), constants as recalled:
    sqrt(2 ln(1/delta) S) + S/2, S = sum eps^2.
    """
    squares = sum(epsilon * epsilon for epsilon in epsilons)
    return sqrt(2.0 * -log(delta) * squares) + 0.5 * squares


def rruv_eps(epsilons: Sequence[float], epsilon: float, delta: float) -> float:
    """What the filter of budget (`epsilon`, `delta`) compares with `epsilon`; for comparison only.

    Source: Rogers, Roth, Ullman & Vadhan 2016, Theorem 5.1, delta < 1/e, constants as recalled:
    sum eps_j (e^eps_j - 1)/2 + sqrt(2 (S + c) (1 + ln(S/c + 1)/2) ln(2/delta)) with
    c = epsilon^2/(28.04 ln(1/delta)), S = sum eps_j^2.
    """
    squares = sum(each * each for each in epsilons)
    drift = 0.5 * sum(each * expm1(each) for each in epsilons)
    c = epsilon * epsilon / (28.04 * -log(delta))
    spread = 2.0 * (squares + c) * (1.0 + 0.5 * log(squares / c + 1.0)) * log(2.0 / delta)
    return drift + sqrt(spread)
