"""How likely may a group with n units be shown? The optimum that thresholds are compared with.

Source: Desfontaines et al. 2022 (optimal partition selection), each unit in one group.
"""

from __future__ import annotations

from math import ceil, exp, expm1, log


def keep_probabilities(epsilon: float, delta: float, units: int) -> tuple[float, ...]:
    """The largest probabilities of showing a group of 0, 1, ..., `units` units under (epsilon, delta)-DP.

    pi(0) = 0; pi(n + 1) = min(e^eps pi(n) + delta, 1 - e^-eps (1 - pi(n) - delta), 1).
    """
    found = [0.0]
    for _ in range(units):
        last = found[-1]
        found.append(min(exp(epsilon) * last + delta, 1.0 - exp(-epsilon) * (1.0 - last - delta), 1.0))
    return tuple(found)


def truncated_geometric(epsilon: float, delta: float) -> int:
    """The k of the optimal mechanism: show a group iff its count plus noise on [-k, k] is above k."""
    return ceil(log((expm1(epsilon) + 2.0 * delta) / ((exp(epsilon) + 1.0) * delta)) / epsilon)
