from __future__ import annotations

from math import exp

import pytest
from dp_accounting.pld import privacy_loss_distribution as oracle

from dpsql.accounting.composition import (
    basic,
    drv_advanced,
    drv_advanced_inverse,
    group_loss,
    group_mu,
    group_rho,
    heterogeneous_advanced,
    heterogeneous_delta,
    heterogeneous_epsilon,
    kov_eps,
    kov_inverse,
    optimal_delta,
    parallel,
    rruv_eps,
    whitehouse_eps,
)
from dpsql.accounting.conversion import bisect_down, delta_gdp, eps_from_gdp, eps_from_rdp, least_order


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


def test_the_inverse_of_the_optimum_spends_no_more_than_asked() -> None:
    each = kov_inverse(1000, 1.0, 1e-10, 1e-6)

    assert kov_eps(1000, each, 1e-10, 1e-6) <= 1.0 + 1e-9
    assert kov_eps(1000, each * 1.0001, 1e-10, 1e-6) > 1.0
    assert each > drv_advanced_inverse(1000, 1.0, 1e-6)
    assert kov_inverse(10, 1.0, 1e-6, 1e-6) == 0.0


def test_different_epsilons_compose_like_equal_ones_when_they_are_equal() -> None:
    steps = [(0.05, 1e-6)] * 100

    epsilon, delta = heterogeneous_advanced(steps, 1e-5)

    assert epsilon < drv_advanced(100, 0.05, 1e-6, 1e-5)[0]
    assert delta == pytest.approx(1.1e-4)
    assert heterogeneous_advanced([(0.05, 0.0)], 1e-9)[0] == pytest.approx(0.05)


@pytest.mark.parametrize(("responses", "mu2"), [({0.05: 100}, 0.0), ({0.5: 3}, 0.04), ({}, 0.25)])
def test_the_lattice_errs_high_and_by_little(responses: dict[float, int], mu2: float) -> None:
    for epsilon in (0.0, 0.3, 1.0):
        ((eps0, k),) = responses.items() or [(0.1, 0)]
        exact = optimal_delta(k, eps0, mu2, epsilon)

        assert exact * (1.0 - 1e-12) <= heterogeneous_delta(responses, mu2, epsilon) <= exact * 1.003 + 1e-12


def test_splitting_a_group_of_responses_changes_nothing_but_rounding() -> None:
    mixed = heterogeneous_epsilon({0.05: 60, 0.05000001: 40}, 0.01, 1e-6)

    assert mixed == pytest.approx(heterogeneous_epsilon({0.05: 100}, 0.01, 1e-6), rel=1e-3)


def test_different_epsilons_stay_above_another_accountants_lower_bound() -> None:
    responses = {0.3: 4, 0.07: 9, 0.011: 20}
    law = None
    for eps0, count in responses.items():
        one = oracle.from_randomized_response(
            2.0 / (1.0 + exp(eps0)), 2, pessimistic_estimate=False, value_discretization_interval=1e-4
        ).self_compose(count)
        law = one if law is None else law.compose(one)
    assert law is not None

    found = heterogeneous_epsilon(responses, 0.0, 1e-5)

    assert law.get_epsilon_for_delta(1e-5) <= found < law.get_epsilon_for_delta(1e-5) * 1.01


def test_a_history_of_nothing_costs_nothing_and_of_too_much_everything() -> None:
    assert heterogeneous_epsilon({}, 0.0, 1e-6) == 0.0
    assert heterogeneous_epsilon({50.0: 20}, 0.0, 1e-6) == float("inf")


def test_a_group_is_its_chain_of_neighbours() -> None:
    epsilon, delta = group_loss(2, 1.0, 1e-6)

    assert epsilon == 2.0
    assert delta == pytest.approx(1e-6 * (1.0 + exp(1.0)))
    assert group_loss(1, 0.3, 1e-9) == pytest.approx((0.3, 1e-9))
    assert group_loss(5, 0.1, 0.0) == (0.5, 0.0)
    assert group_loss(1000, 1.0, 1e-6)[1] == 1.0
    assert (group_rho(3, 0.5), group_mu(3, 0.5)) == (4.5, 1.5)
    for group in (group_rho, group_mu):
        with pytest.raises(ValueError, match="at least one unit"):
            group(0, 0.5)


def test_a_group_of_a_gaussian_loses_no_more_than_its_chain_says() -> None:
    mu, delta = 0.3, 1e-6
    chain = group_loss(3, eps_from_gdp(mu, delta), delta)

    assert eps_from_gdp(group_mu(3, mu), chain[1]) < chain[0]


def test_a_search_that_ends_early_returns_the_larger_loss() -> None:
    limit = bisect_down(lambda negated: negated <= -0.1, -1.0, 0.0)

    assert -limit >= 0.1
    assert kov_eps(3, 0.1, 0.0, 1e-9) >= 0.3 * (1.0 - 1e-6)
    best = least_order(lambda alpha: eps_from_rdp(alpha, 0.01 * alpha, 1e-6))[1]
    assert all(eps_from_rdp(alpha, 0.01 * alpha, 1e-6) >= best for alpha in (1.5, 10.0, 37.0, 500.0))
