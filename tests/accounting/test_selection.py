from __future__ import annotations

from itertools import pairwise
from math import exp

import pytest

from dpsql.accounting.selection import keep_probabilities, truncated_geometric


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-5), (2.0, 1e-3)])
def test_neighbouring_groups_are_shown_with_admissible_probabilities(epsilon: float, delta: float) -> None:
    shown = keep_probabilities(epsilon, delta, 200)

    for less, more in pairwise(shown):
        assert less <= more <= exp(epsilon) * less + delta + 1e-15
        assert 1.0 - less <= exp(epsilon) * (1.0 - more) + delta + 1e-15


def test_a_group_without_units_is_never_shown_and_a_large_one_always() -> None:
    shown = keep_probabilities(1.0, 1e-5, 110)

    assert shown[0] == 0.0
    assert shown[1] == pytest.approx(1e-5)
    assert shown[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-5), (2.0, 1e-3)])
def test_truncated_noise_reaches_the_optimum_at_its_own_delta(epsilon: float, delta: float) -> None:
    k = truncated_geometric(epsilon, delta)
    weights = {z: exp(-epsilon * abs(z)) for z in range(-k, k + 1)}
    everything = sum(weights.values())
    reached = weights[k] / everything
    assert reached <= delta

    optimum = keep_probabilities(epsilon, reached, 2 * k + 2)

    for units, best in enumerate(optimum):
        shown = sum(weight for z, weight in weights.items() if units + z > k) / everything
        assert shown == pytest.approx(best, abs=1e-12)
