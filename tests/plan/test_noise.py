"""Each measure's noise covers its sensitivity, on a lattice that the samplers can draw on."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.event import DiscreteGaussian, DiscreteLaplace
from dpsql.analysis.sensitivity import UNIT, Sensitivity
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.plan.noise import GAUSSIAN_RANGE, LAPLACE_RANGE, gaussian, laplace

DELTA = Decimal("1e-6")


@st.composite
def sensitivities(draw: st.DrawFn) -> tuple[Sensitivity, ...]:
    parts = []
    for _ in range(draw(st.integers(1, 6))):
        l1 = draw(st.integers(UNIT, 2**62))
        cells = draw(st.integers(1, 400))
        parts.append(Sensitivity(l1, draw(st.integers(max(UNIT**2, l1**2 // cells), l1**2)), cells))
    return tuple(parts)


EPSILONS = st.sampled_from([Decimal(text) for text in ("0.001", "0.1", "0.5", "1", "7.5")])


@given(parts=sensitivities(), epsilon=EPSILONS)
def test_laplace_scales_add_up_to_epsilon(parts: tuple[Sensitivity, ...], epsilon: Decimal) -> None:
    """After floor division a touched cell can move by one lattice step more."""
    joint = laplace(parts, epsilon)

    spent = Fraction(0)
    for part, noise in zip(parts, joint.parts, strict=True):
        assert isinstance(noise.mechanism, Laplace)
        moved = part.l1 if noise.lattice == 1 else math.ceil(Fraction(part.l1, noise.lattice)) + part.cells
        spent += moved / noise.mechanism.scale
    assert spent <= Fraction(epsilon)
    assert joint.event == DiscreteLaplace(epsilon)


@given(parts=sensitivities(), epsilon=EPSILONS)
def test_gaussian_losses_are_no_more_than_the_event_says(
    parts: tuple[Sensitivity, ...], epsilon: Decimal
) -> None:
    joint = gaussian(parts, epsilon, DELTA)
    if joint is None:
        return

    losses = []
    for part, noise in zip(parts, joint.parts, strict=True):
        assert isinstance(noise.mechanism, Gaussian)
        l2 = math.sqrt(part.l2_squared) / noise.lattice
        moved = l2 if noise.lattice == 1 else l2 + math.sqrt(part.cells)
        losses.append((moved / float(noise.mechanism.sigma)) ** 2)
    assert isinstance(joint.event, DiscreteGaussian)
    assert math.fsum(losses) <= joint.event.mu2
    assert joint.event.variance <= min(float(noise.mechanism.sigma) for noise in joint.parts) ** 2  # type: ignore[union-attr]


@given(parts=sensitivities(), epsilon=EPSILONS)
def test_noise_stays_in_the_samplers_range_and_the_lattice_is_a_power_of_two(
    parts: tuple[Sensitivity, ...], epsilon: Decimal
) -> None:
    """A finer lattice would be better still; a coarser one would show in the answers."""
    joint = gaussian(parts, epsilon, DELTA)
    for noise in (*laplace(parts, epsilon).parts, *(() if joint is None else joint.parts)):
        assert noise.lattice & (noise.lattice - 1) == 0
        mechanism = noise.mechanism
        scale = mechanism.sigma if isinstance(mechanism, Gaussian) else mechanism.scale
        limit = GAUSSIAN_RANGE if isinstance(mechanism, Gaussian) else LAPLACE_RANGE
        assert scale <= 2 * limit + 400 / Fraction(epsilon) * 6 * 10
        assert noise.lattice == 1 or scale > limit // 4


@pytest.mark.parametrize("epsilon", ["0.01", "1"])
def test_a_count_stays_on_the_finest_lattice(epsilon: str) -> None:
    count = Sensitivity(UNIT, UNIT**2, 1)

    assert laplace((count,), Decimal(epsilon)).parts[0].lattice == 1
    joint = gaussian((count,), Decimal(epsilon), DELTA)
    assert joint is not None
    assert joint.parts[0].lattice == 1


@given(parts=sensitivities())
def test_more_epsilon_never_means_more_noise(parts: tuple[Sensitivity, ...]) -> None:
    little, much = (laplace(parts, Decimal(epsilon)).parts for epsilon in ("0.5", "1"))

    for before, after in zip(little, much, strict=True):
        assert isinstance(before.mechanism, Laplace)
        assert isinstance(after.mechanism, Laplace)
        assert after.mechanism.scale * after.lattice <= before.mechanism.scale * before.lattice
