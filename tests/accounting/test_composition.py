from __future__ import annotations

from math import exp

import pytest
from dp_accounting.pld import privacy_loss_distribution as oracle

from dpsql.accounting.composition import (
    basic,
    drv_advanced,
    drv_advanced_inverse,
    kov_eps,
    optimal_delta,
    parallel,
    rruv_eps,
    whitehouse_eps,
)
from dpsql.accounting.conversion import delta_gdp


@pytest.mark.parametrize(("k", "eps0", "epsilon"), [(1, 0.5, 0.2), (10, 0.1, 0.5), (100, 0.05, 1.5)])
def test_the_optimum_lies_between_another_accountants_bounds(k: int, eps0: float, epsilon: float) -> None:
    bounds = []
    for pessimistic in (False, True):
        response = oracle.from_randomized_response(
            2.0 / (1.0 + exp(eps0)), 2, pessimistic_estimate=pessimistic, value_discretization_interval=1e-5
        )
        bounds.append(response.self_compose(k).get_delta_for_epsilon(epsilon))

    assert bounds[0] * (1.0 - 1e-6) <= optimal_delta(k, eps0, 0.0, epsilon) <= bounds[1] * (1.0 + 1e-6)
    assert bounds[1] < bounds[0] * 1.05


def test_the_optimum_without_pure_steps_is_a_gaussian() -> None:
    assert optimal_delta(0, 0.1, 0.25, 1.0) == pytest.approx(delta_gdp(1.0, 0.5), rel=1e-8)


def test_the_optimum_of_one_response_is_its_hockey_stick() -> None:
    assert optimal_delta(1, 1.0, 0.0, 0.0) == pytest.approx(0.46211715726000973)
    assert optimal_delta(3, 1.0, 0.0, 3.0) == pytest.approx(0.0, abs=1e-15)


def test_accountants_are_ordered_from_loose_to_tight() -> None:
    k, eps0, delta = 400, 0.05, 1e-6

    loose = basic(k, eps0, 0.0)[0]
    advanced = drv_advanced(k, eps0, 0.0, delta)[0]
    adaptive = whitehouse_eps([eps0] * k, delta)
    optimal = kov_eps(k, eps0, 0.0, delta)

    assert loose > advanced > adaptive > optimal > 0.0
    assert optimal_delta(k, eps0, 0.0, optimal) <= delta


def test_the_optimal_epsilon_has_its_edges() -> None:
    assert kov_eps(10, 0.1, 1e-7, 1e-6) == pytest.approx(1.0)
    assert kov_eps(10, 0.1, 1e-6, 1e-6) == float("inf")
    assert kov_eps(2, 0.01, 0.0, 0.5) == 0.0


def test_the_inverse_of_advanced_composition_spends_no_more_than_asked() -> None:
    each = drv_advanced_inverse(1000, 1.0, 1e-6)

    assert drv_advanced(1000, each, 0.0, 1e-6)[0] <= 1.0
    assert drv_advanced(1000, each * (1.0 + 1e-9), 0.0, 1e-6)[0] > 1.0


def test_the_older_filter_compares_more_than_the_newer_one() -> None:
    epsilons = [0.05] * 100

    assert rruv_eps(epsilons, 5.0, 1e-5) > whitehouse_eps(epsilons, 1e-5)


def test_disjoint_parts_cost_the_most_expensive_ones() -> None:
    parts = [(0.1, 1e-6), (0.3, 1e-9), (0.2, 2e-6)]

    assert parallel(parts) == (0.3, 2e-6)
    assert parallel(parts, touched=2) == pytest.approx((0.5, 3e-6))
    assert parallel(parts, touched=9) == pytest.approx((0.6, 3.001e-6))
    with pytest.raises(ValueError, match="at least one"):
        parallel(parts, touched=0)
