"""Do all functions agree with the committed reference values?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import floor
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting import Composed, Event, Exponential, Gaussian, Pure
from dpsql.accounting.calibration import (
    discrete_gaussian_delta,
    discrete_gaussian_threshold,
    discrete_laplace_threshold,
    gaussian_sigma,
    gaussian_sigma_classic,
    gaussian_threshold,
    laplace_threshold,
)
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
from dpsql.accounting.conversion import (
    best_order,
    delta_gdp,
    eps_from_rdp,
    eps_from_zcdp,
    eps_from_zcdp_classic,
    mu_for,
    rdp_budget,
    rho_classic,
    rho_for,
)
from dpsql.accounting.filters import Additive, Concentrated, GaussianDp, Renyi, Residue
from dpsql.accounting.loss import (
    epsilon_of,
    mu_pure,
    rdp_laplace,
    rdp_pure,
    rho_of,
    zcdp_exponential,
    zcdp_laplace,
    zcdp_pure,
)
from dpsql.accounting.odometers import line, mixture
from dpsql.accounting.residue import residue_pure, v_needed
from dpsql.accounting.selection import keep_probabilities, truncated_geometric

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("accounting_values.json").read_text())

ELSEWHERE = {
    "noise_std_over_batch",  # sigma / B, no function of ours
    "quantile_em_probs",  # a mechanism's law, not a price
    "multi_alpha_counterexample",  # computed in test_portfolio_theorem.py
}


def _top_k(k: int, b: float, sens: float, monotone: bool) -> dict[str, float]:
    each = Decimal(sens) / Decimal(b) * (1 if monotone else 2)
    event = Composed((Exponential(each),) * k)
    total = epsilon_of(event)
    assert total is not None
    return {"eps1": float(each), "pure": float(total), "rho": rho_of(event)}


def _largest(holds: Callable[[int], bool]) -> int:
    if not holds(1):
        return 0
    high = 2
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


class Workload:
    """n queries of one workload: how many are pure, how many Gaussian, and of which size."""

    def __init__(self, kind: str, eps0: float, gaussian_delta0: float) -> None:
        self.gaussian_share = {"laplace": 0.0, "gauss": 1.0, "mix": 0.5}[kind]
        self.kind, self.eps0, self.delta0 = kind, eps0, gaussian_delta0
        self.mu2 = gaussian_sigma(eps0, gaussian_delta0) ** -2
        self.pure, self.gaussian = Pure(Decimal(str(eps0))), Gaussian(self.mu2)

    def gaussians(self, n: int) -> int:
        return floor(n * self.gaussian_share)

    def admitted(self, rule: Additive | Residue) -> int:
        match self.kind:
            case "laplace":
                return rule.more(self.pure)
            case "gauss":
                return rule.more(self.gaussian)
            case _:
                return 2 * rule.more(Composed((self.pure, self.gaussian)))


def _max_queries(
    eps: float, delta: float, eps0: float, workload: str, filter: str, gaussian_delta0: float
) -> int:
    work = Workload(workload, eps0, gaussian_delta0)

    def conversion_delta(n: int) -> float:
        return delta - work.gaussians(n) * gaussian_delta0

    match filter:
        case "basic":
            spent = Decimal(str(eps0))
            return min(
                int(Decimal(str(eps)) / spent),
                _largest(lambda n: n <= 10**6 and conversion_delta(n) >= 0),
            )
        case "drv":
            return _largest(lambda n: _drv(n, eps0, conversion_delta(n)) <= eps)
        case "kov(e0,d0)":
            return _largest(lambda n: _kov(n, work.gaussians(n), eps0, gaussian_delta0, eps, delta))
        case "whitehouse(e0,d0)":
            return _largest(
                lambda n: conversion_delta(n) > 0 and whitehouse_eps([eps0] * n, conversion_delta(n)) <= eps
            )
        case "zcdp classic rho":
            rho = rho_classic(eps, delta)
            charges = (0.5 * eps0 * eps0, 0.5 * work.mu2)
            return _largest(lambda n: _split(n, work, charges) <= rho)
        case "zcdp optimal (pure rho)":
            rho = rho_for(eps, delta)
            return work.admitted(Additive("zcdp", Concentrated(), rho, rho))
        case "rdp a-priori alpha (pure)":
            alpha = best_order(eps, delta)
            room = rdp_budget(alpha, eps, delta)
            return work.admitted(Additive("rdp", Renyi(alpha), room, room))
        case "gdp naive":
            v = mu_for(eps, delta) ** 2
            return work.admitted(Additive("gdp", GaussianDp(), v, v))
        case "gdp residue":
            v = mu_for(eps, delta) ** 2
            return work.admitted(Residue(v, v))
        case "optimum (pure=RR)":
            return _largest(lambda n: _optimum(n, work, eps) <= delta)
        case _:
            raise AssertionError(filter)


def _split(n: int, work: Workload, charges: tuple[float, float]) -> float:
    gaussians = work.gaussians(n)
    return (n - gaussians) * charges[0] + gaussians * charges[1]


def _drv(n: int, eps0: float, delta_prime: float) -> float:
    return drv_advanced(n, eps0, 0.0, delta_prime)[0] if delta_prime > 0 else float("inf")


def _kov(n: int, gaussians: int, eps0: float, delta0: float, eps: float, delta: float) -> bool:
    share = 1.0 - (1.0 - delta) / (1.0 - delta0) ** gaussians
    return share >= 0.0 and optimal_delta(n, eps0, 0.0, eps) <= share + 1e-15


def _optimum(n: int, work: Workload, eps: float) -> float:
    gaussians = work.gaussians(n)
    return optimal_delta(n - gaussians, work.eps0, gaussians * work.mu2, eps)


def _parallel(parts: Sequence[tuple[float, float]], neighbour: str) -> tuple[float, float]:
    return parallel(parts, {"add_remove": 1, "replace_one": 2}[neighbour])


def _keep(eps: float, delta: float, n: Sequence[int]) -> list[float]:
    found = keep_probabilities(eps, delta, max(n))
    return [found[units] for units in n]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "basic": lambda k, eps0, delta0: basic(k, eps0, delta0),
    "drv_advanced": lambda k, eps0, delta0, delta_prime: drv_advanced(k, eps0, delta0, delta_prime),
    "drv_advanced_inverse": lambda k, eps_total, delta_prime: drv_advanced_inverse(k, eps_total, delta_prime),
    "kov_eps": lambda k, eps0, delta0, delta: kov_eps(k, eps0, delta0, delta),
    "parallel": _parallel,
    "whitehouse_eps": lambda eps_list, delta_conv: whitehouse_eps(eps_list, delta_conv),
    "rruv_K": lambda eps_list, eps_g, delta_g: rruv_eps(eps_list, eps_g, delta_g),
    "sigma_classic_gaussian": lambda eps, delta, sensitivity: gaussian_sigma_classic(eps, delta, sensitivity),
    "sigma_analytic_gaussian": lambda eps, delta, sensitivity: gaussian_sigma(eps, delta, sensitivity),
    "zcdp_pure": lambda eps: zcdp_pure(eps),
    "zcdp_laplace": lambda eps: zcdp_laplace(eps),
    "zcdp_exponential_mechanism": lambda eps: zcdp_exponential(eps),
    "rdp_pure": lambda eps, alpha: rdp_pure(eps, alpha),
    "rdp_laplace": lambda eps, alpha: rdp_laplace(eps, alpha),
    "mu_pure": lambda eps: mu_pure(eps),
    "eps_from_zcdp": eps_from_zcdp,
    "eps_from_zcdp_classic": eps_from_zcdp_classic,
    "eps_from_rdp": eps_from_rdp,
    "rho_for": lambda eps, delta: rho_for(eps, delta),
    "rho_classic": lambda eps, delta: rho_classic(eps, delta),
    "mu_for": lambda eps, delta: mu_for(eps, delta),
    "delta_gdp": lambda eps, mu: delta_gdp(eps, mu),
    "delta_discrete_gaussian": lambda eps, sigma2, sens: discrete_gaussian_delta(eps, sigma2, sens),
    "residue_pure": lambda v, eps: residue_pure(v, eps),
    "v_needed": lambda v_after, eps: v_needed(v_after, eps),
    "max_queries": _max_queries,
    "tau_laplace": lambda eps, delta, l0, min_units: laplace_threshold(eps, delta, l0, min_units),
    "tau_discrete_laplace": lambda eps, delta, l0, min_units: discrete_laplace_threshold(
        eps, delta, l0, min_units
    ),
    "tau_gaussian": lambda sigma, delta_thr, l0, min_units: gaussian_threshold(
        sigma, delta_thr, l0, min_units
    ),
    "tau_discrete_gaussian": lambda sigma2, delta_thr, l0, min_units: discrete_gaussian_threshold(
        sigma2, delta_thr, l0, min_units
    ),
    "optimal_keep_prob": _keep,
    "truncated_geometric_k": lambda eps, delta: truncated_geometric(eps, delta),
    "top_k_gumbel_cost": _top_k,
    "odo_line": lambda rho, delta, rho_star: line(rho, delta, rho_star),
    "odo_mixture": lambda rho, delta, tau2: mixture(rho, delta, tau2),
}


def _name(row: Mapping[str, Any]) -> str:
    inputs = {key: value for key, value in row["inputs"].items() if not isinstance(value, list)}
    return "-".join([str(row["fn"]), *(str(value) for value in inputs.values())])


@pytest.mark.parametrize("row", [row for row in ROWS if row["fn"] in FUNCTIONS], ids=_name)
def test_a_function_gives_the_reference_value(row: dict[str, Any]) -> None:
    found = FUNCTIONS[row["fn"]](**row["inputs"])

    expected = row["expected"]
    if expected is None:
        assert found is None
    else:
        tolerance = {"rel": row["rel_tol"], "abs": row.get("abs_tol", 0.0)}
        assert found == pytest.approx(tuple(expected) if isinstance(found, tuple) else expected, **tolerance)


def test_every_reference_row_has_a_function_or_a_reason() -> None:
    names = {row["fn"] for row in ROWS}

    assert names - set(FUNCTIONS) == ELSEWHERE


@pytest.mark.parametrize("event", [Pure(Decimal("0.01")), Gaussian(1e-4)])
def test_counting_ahead_agrees_with_stepping(event: Event) -> None:
    v = mu_for(1.0, 1e-6) ** 2
    rule: Residue | None = Residue(v, v)
    assert rule is not None
    promised = rule.more(event)

    steps = 0
    while (rule := rule.step(event)) is not None:
        steps += 1

    assert promised <= steps <= promised + 1
