from __future__ import annotations

from importlib import import_module
from math import exp, inf, sqrt
from typing import Any

import pytest
from dp_accounting import rdp as oracle
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpsql.accounting.conversion import (
    best_order,
    delta_gdp,
    eps_from_gdp,
    eps_from_rdp,
    eps_from_zcdp,
    eps_from_zcdp_classic,
    gaussian_delta,
    mu_for,
    rdp_budget,
    rho_classic,
    rho_for,
)

MP: Any = import_module("mpmath")
EPSILONS = st.floats(-3.0, 1.0).map(lambda p: 10.0**p)
DELTAS = st.floats(-15.0, -1.0).map(lambda p: 10.0**p)


@pytest.mark.parametrize(
    ("epsilon", "delta", "half_v", "rho", "classic"),
    [
        (1.0, 1e-6, 0.028014, 0.024356, 0.017469),
        (3.0, 1e-5, 0.258565, 0.224249, 0.173483),
        (5.0, 1.1e-4, 0.797573, 0.684870, 0.544477),
    ],
)
def test_budgets_convert_to_the_worked_figures(
    epsilon: float, delta: float, half_v: float, rho: float, classic: float
) -> None:
    assert mu_for(epsilon, delta) ** 2 / 2.0 == pytest.approx(half_v, abs=6e-7)
    assert rho_for(epsilon, delta) == pytest.approx(rho, abs=6e-7)
    assert rho_classic(epsilon, delta) == pytest.approx(classic, abs=6e-7)


@given(EPSILONS, DELTAS)
def test_a_budget_converted_and_back_is_never_larger(epsilon: float, delta: float) -> None:
    assert delta_gdp(epsilon, mu_for(epsilon, delta)) <= delta
    assert eps_from_zcdp_classic(rho_classic(epsilon, delta), delta) <= epsilon * (1.0 + 1e-12)
    rho = rho_for(epsilon, delta)
    if rho > 0.0:
        assert epsilon * 0.999 <= eps_from_zcdp(rho, delta) <= epsilon * (1.0 + 1e-9)


@given(st.floats(1.1, 200.0), EPSILONS, DELTAS)
def test_a_divergence_budget_is_the_inverse_of_its_epsilon(
    alpha: float, epsilon: float, delta: float
) -> None:
    room = rdp_budget(alpha, epsilon, delta)

    assert eps_from_rdp(alpha, room, delta) == pytest.approx(epsilon, abs=1e-12 * (1.0 + abs(room)))


@pytest.mark.parametrize(("alpha", "r", "delta"), [(2.0, 0.01, 1e-5), (10.0, 0.1, 1e-6), (64.0, 1.5, 1e-9)])
def test_epsilon_from_divergence_agrees_with_another_accountant(alpha: float, r: float, delta: float) -> None:
    expected, _ = oracle.rdp_privacy_accountant.compute_epsilon([alpha], [r], delta)

    assert eps_from_rdp(alpha, r, delta) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0.05, 6.0), st.floats(-2.0, 1.5).map(lambda p: 10.0**p))
def test_gaussian_delta_is_rounded_up_by_little(mu: float, epsilon: float) -> None:
    with MP.workdps(60):
        m, e = MP.mpf(mu), MP.mpf(epsilon)
        precise = MP.ncdf(m / 2 - e / m) - MP.exp(e) * MP.ncdf(-m / 2 - e / m)
        found = delta_gdp(epsilon, mu)

        assert found >= precise
        assert found <= precise * (1.0 + 1e-8) + MP.mpf("1e-13") or precise < 1e-30


def test_gaussian_delta_agrees_with_the_textbook_form() -> None:
    expected = norm.cdf(0.5 - 1.0) - exp(1.0) * norm.cdf(-0.5 - 1.0)

    assert gaussian_delta(1.0, 2.0, l2=2.0) == pytest.approx(expected, rel=1e-10)
    assert delta_gdp(1.0, 0.0) == 0.0


@pytest.mark.parametrize(("mu", "epsilon"), [(0.16208065609948, 6.1852722496559), (0.05, 20.0), (1e-3, 1.0)])
def test_gaussian_delta_is_no_smaller_where_its_tails_underflow(mu: float, epsilon: float) -> None:
    with MP.workdps(60):
        m, e = MP.mpf(mu), MP.mpf(epsilon)
        precise = MP.ncdf(m / 2 - e / m) - MP.exp(e) * MP.ncdf(-m / 2 - e / m)

        assert precise < 1e-300
        assert delta_gdp(epsilon, mu) >= precise


@given(st.floats(0.05, 3.0), DELTAS)
def test_epsilon_of_a_gaussian_is_sufficient_and_tight(mu: float, delta: float) -> None:
    epsilon = eps_from_gdp(mu, delta)

    assert delta_gdp(epsilon, mu) <= delta
    assert epsilon == 0.0 or delta_gdp(epsilon * (1.0 - 1e-6), mu) > delta


def test_epsilon_of_a_gaussian_beyond_all_range_is_infinite() -> None:
    assert eps_from_gdp(100.0, 1e-6) == inf
    assert eps_from_gdp(0.01, 0.5) == 0.0


def test_no_loss_converts_to_no_epsilon() -> None:
    assert eps_from_zcdp(0.0, 1e-6) == 0.0
    assert eps_from_rdp(2.0, 0.0, 0.9) == 0.0


@given(EPSILONS, DELTAS)
def test_the_best_order_is_as_good_as_any_on_a_grid(epsilon: float, delta: float) -> None:
    alpha = best_order(epsilon, delta)

    best = max(rdp_budget(1.0 + 1.3**i, epsilon, delta) / (1.0 + 1.3**i) for i in range(-15, 70))

    assert rdp_budget(alpha, epsilon, delta) / alpha >= best - 1e-9 * abs(best)


def test_the_classic_conversion_is_looser() -> None:
    assert (
        eps_from_zcdp(0.01, 1e-6)
        < eps_from_zcdp_classic(0.01, 1e-6)
        == pytest.approx(0.01 + 2.0 * sqrt(0.01 * 13.815510557964274))
    )
