from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import log, sqrt

import numpy as np
import pytest

from dpsql.accounting import Approximate, Gaussian, Odometer, Pure, Threshold
from dpsql.accounting.conversion import eps_from_zcdp, rho_for
from dpsql.accounting.odometers import line, milestones, mixture, stitched

DELTA = 1e-6
RHO_STAR = rho_for(1.0, DELTA)
Curve = np.ndarray[tuple[int], np.dtype[np.float64]]


@pytest.mark.parametrize(
    ("share", "straight", "fixed"),
    [(0.01, 0.586, 0.086), (0.1, 0.641, 0.293), (0.5, 0.882, 0.691), (1.0, 1.185, 1.000)],
)
def test_an_anytime_line_is_dearer_than_one_look_at_a_fixed_time(
    share: float, straight: float, fixed: float
) -> None:
    rho = share * RHO_STAR

    assert line(rho, DELTA, RHO_STAR) == pytest.approx(straight, abs=6e-4)
    assert eps_from_zcdp(rho, DELTA) == pytest.approx(fixed, abs=6e-4)


def _straight(rho: float, delta: float) -> float:
    return line(rho, delta, RHO_STAR)


def _mixed(rho: float, delta: float) -> float:
    return mixture(rho, delta, 500.0)


def _pieces(rho: float, delta: float) -> float:
    return stitched(rho, delta, 1e-4)


@pytest.mark.parametrize("bound", [_straight, _mixed, _pieces])
def test_a_bound_grows_with_what_was_spent_and_shrinks_with_delta(
    bound: Callable[[float, float], float],
) -> None:
    values = [bound(rho, DELTA) for rho in (0.0, 1e-5, 1e-3, 0.1)]

    assert values == sorted(values)
    assert values[0] > 0.0
    assert bound(1e-3, 1e-3) < bound(1e-3, 1e-6)


def test_stitched_lines_follow_the_best_line_at_every_scale() -> None:
    for rho in (1e-4, 1e-3, 1e-2):
        assert stitched(rho, DELTA, 1e-4) < 1.5 * line(rho, DELTA, rho)


def _violations(bound: Curve, rho: Curve) -> float:
    """Share of simulated Gaussian histories whose realised loss ever exceeds the bound."""
    rng = np.random.default_rng(7)
    step = float(rho[0])
    losses = rng.normal(step, sqrt(2.0 * step), (20_000, len(rho))).cumsum(axis=1)
    return float((losses > bound).any(axis=1).mean())


def test_anytime_bounds_hold_at_all_times_and_a_fixed_time_bound_does_not() -> None:
    delta, rho_star = 0.05, 0.2
    rho = np.arange(1, 101) * rho_star / 100

    straight = _violations(np.array([line(r, delta, rho_star) for r in rho]), rho)
    mixed = _violations(np.array([mixture(r, delta, 10.0) for r in rho]), rho)
    pieces = _violations(np.array([stitched(r, delta, rho_star / 64) for r in rho]), rho)
    fixed = _violations(np.array([_fixed(r, delta) for r in rho]), rho)

    assert max(straight, mixed, pieces) <= delta
    assert min(straight, mixed, pieces) > 0.0
    assert fixed > 1.5 * delta


def _fixed(rho: float, delta: float) -> float:
    """The loss that is exceeded with probability delta at this one time, from the normal law of the loss."""
    return rho + sqrt(2.0 * rho) * 1.6448536269514722


def test_an_odometer_reads_the_sum_of_epsilons_while_that_is_less() -> None:
    odometer = Odometer(DELTA, tau2=500.0)

    after = odometer.step(Pure(Decimal("0.01"))).step(Approximate(Decimal("0.02"), Decimal("1e-9")))

    assert after.loss() == pytest.approx(0.03)
    assert after.spent_delta == Decimal("1e-9")


def test_an_odometer_falls_back_to_its_mixture_after_a_gaussian() -> None:
    odometer = Odometer(DELTA, tau2=500.0).step(Pure(Decimal("0.01")))

    after = odometer.step(Gaussian(1e-4)).step(Threshold(Decimal("1e-9")))

    assert after.epsilon is None
    assert after.loss() == pytest.approx(mixture(after.rho, DELTA, 500.0))
    assert after.rho == pytest.approx(0.01**2 / 2 + 5e-5, rel=1e-4)


def test_many_pure_steps_read_less_than_their_sum() -> None:
    odometer = Odometer(DELTA, tau2=500.0)

    for _ in range(500):
        odometer = odometer.step(Pure(Decimal("0.01")))

    assert odometer.loss() < 1.5 < 5.0
    assert odometer.loss() > log(2.0)


def test_milestones_end_at_the_budget_and_are_below_what_holds_at_all_times() -> None:
    found = milestones(1.0, DELTA)

    assert [each.share for each in found] == [0.05, 0.1, 0.25, 0.5, 0.75, 1.0]
    assert found[1].epsilon == pytest.approx(0.293, abs=6e-4)
    assert found[-1].epsilon == pytest.approx(1.0, rel=1e-9)
    assert all(each.epsilon < mixture(each.rho, DELTA, 565.0) for each in found)


def test_a_budget_without_room_has_no_milestones() -> None:
    assert milestones(1e-9, 1e-300) == ()
