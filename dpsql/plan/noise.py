"""How much noise does each measure of a query get for the query's (epsilon, delta)?

The k measures of a query form one joint vector. Laplace gives each epsilon / k. Gaussian gives measure j
the deviation l2_j sqrt(k) sigma_1, with sigma_1 the deviation that makes sensitivity 1 (epsilon, delta)-DP,
so that the sum of (l2_j / sigma_j)^2 is 1 / sigma_1^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpsql.accounting.calibration import gaussian_sigma
from dpsql.accounting.event import MIN_MU2, DiscreteGaussian, DiscreteLaplace, Event
from dpsql.analysis.sensitivity import Sensitivity
from dpsql.mechanisms import Gaussian, Laplace, Mechanism

LAPLACE_RANGE: Final = 2**34
GAUSSIAN_RANGE: Final = 2**25
"""Beyond these scales cells are put on a coarser lattice; the samplers draw up to 2^40 and 2^26."""


@dataclass(frozen=True, slots=True)
class Noise:
    """One measure's noise: cells are floor-divided by ``lattice``, then noise of ``mechanism`` is added."""

    mechanism: Mechanism
    lattice: int


@dataclass(frozen=True, slots=True)
class JointNoise:
    """The noise of a query's measures and the event that the ledger records for all of them."""

    parts: tuple[Noise, ...]
    event: Event


def laplace(sensitivities: tuple[Sensitivity, ...], epsilon: Decimal) -> JointNoise:
    """Discrete Laplace noise: measure j gets scale l1_j k / epsilon, so that the vector is epsilon-DP."""
    share = Fraction(epsilon) / len(sensitivities)
    return JointNoise(tuple(_laplace(part, share) for part in sensitivities), DiscreteLaplace(epsilon))


def _laplace(part: Sensitivity, share: Fraction) -> Noise:
    lattice = _lattice(part.l1 / share, LAPLACE_RANGE)
    # Floor division moves each touched cell by up to one step more.
    l1 = part.l1 if lattice == 1 else -(-part.l1 // lattice) + part.cells
    return Noise(Laplace(l1 / share), lattice)


def _lattice(scale: Fraction, largest: int) -> int:
    steps = math.ceil(scale / largest)
    return 1 if steps <= 1 else 1 << (steps - 1).bit_length()


def gaussian(sensitivities: tuple[Sensitivity, ...], epsilon: Decimal, delta: Decimal) -> JointNoise | None:
    """Discrete Gaussian noise: measure j gets deviation l2_j sqrt(k) sigma_1, rounded up.

    None when a deviation is beyond what is drawn: a coarse lattice with very many cells.
    """
    one = _sigma_one(epsilon, delta) * math.sqrt(len(sensitivities))
    scaled = [_gaussian(part, one) for part in sensitivities]
    if any(sigma > 2 * GAUSSIAN_RANGE for sigma, _, _ in scaled):
        return None
    parts = tuple(Noise(Gaussian(sigma), lattice) for sigma, lattice, _ in scaled)
    losses = [loss for _, _, loss in scaled]
    variance = float(min(sigma for sigma, _, _ in scaled)) ** 2
    mu2 = max(math.fsum(losses) * (1 + 1e-9), MIN_MU2)
    return JointNoise(parts, DiscreteGaussian(mu2, variance * (1 - 1e-12)))


@lru_cache(maxsize=1024)
def _sigma_one(epsilon: Decimal, delta: Decimal) -> float:
    return gaussian_sigma(float(epsilon), float(delta))


def _gaussian(part: Sensitivity, one: float) -> tuple[Fraction, int, float]:
    """(deviation, lattice, the loss (l2 / deviation)^2) of one measure."""
    l2 = math.sqrt(part.l2_squared)
    lattice = _lattice(Fraction(l2 * one), GAUSSIAN_RANGE)
    if lattice > 1:
        l2 = l2 / lattice + math.sqrt(part.cells)
    sigma = Fraction(math.ceil(l2 * one * (1 + 1e-12) * 1024), 1024)
    return sigma, lattice, (l2 / float(sigma)) ** 2
