"""How does discrete Gaussian noise spread?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.quantile import first_below, one_sided_miss
from dpsql.mechanisms.sampler import LARGEST_SIGMA, NoiseSource, require_scale

# Tails are summed term by term up to here; above, the normal tail is less than a tenth of a step off.
_SUMMED: Final = 32
# Terms beyond 10 sigma weigh less than exp(-50) of the first.
_REACH: Final = 10
# exp and erfc at exponents up to 745, their arguments rounded to doubles: off by less than 1e-11.
_UP: Final = 1 + 1e-11
# exp(-38.4² / 2) is about 1e-320: the tail is below every chance that is asked for.
_LAST: Final = 38


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Discrete Gaussian noise on a lattice: P(x) ~ exp(-x² / (2 sigma²)).

    Attributes:
        sigma: in lattice steps; from 2^-40 to 2^26, else UnsupportedQuery.
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        require_scale(self.sigma, LARGEST_SIGMA)

    def draw(self, source: NoiseSource, size: int) -> NDArray[np.int64]:
        """Draw `size` independent integers, in lattice steps."""
        return source.discrete_gaussian(self.sigma, size)

    def std(self) -> float:
        """Standard deviation in lattice steps; sigma itself to double precision, except for sigma below 2.

        >>> Gaussian(Fraction(30720)).std()
        30720.0
        """
        if self.sigma > _SUMMED:
            return float(self.sigma)
        rate = _rate(self.sigma)
        squares = math.fsum(x * x * math.exp(-x * x * rate) for x in range(1, _terms(self.sigma)))
        return math.sqrt(2 * squares / _mass(self.sigma))

    def half_width(self, confidence: float = 0.95) -> int:
        """Smallest t, in lattice steps, with P(|X| > t) <= 1 - confidence.

        Never too small; for sigma above 32 it may be one step too large.

        >>> Gaussian(Fraction(10)).half_width()
        20
        """
        return first_below(self.tail, one_sided_miss(confidence), math.ceil(_LAST * self.sigma) + 1) - 1

    def tail(self, k: int) -> float:
        """Upper bound of P(X >= k) for k >= 1, and 1 for k < 1.

        Up to sigma = 32 the exact sum, above it the normal tail from k - 1/2 on, both rounded up; derived in
        docs/proofs/samplers.md.
        """
        if k < 1:
            return 1.0
        rest = _summed_tail(self.sigma, k) if self.sigma <= _SUMMED else _normal_tail(self.sigma, k)
        return math.nextafter(min(rest * _UP, 1.0), 1.0)


def _rate(sigma: Fraction) -> float:
    """1 / (2 sigma²)."""
    return float(1 / (2 * sigma * sigma))


def _terms(sigma: Fraction) -> int:
    return math.ceil(_REACH * sigma) + 2


@lru_cache(maxsize=256)
def _mass(sigma: Fraction) -> float:
    """Sum of exp(-x² / (2 sigma²)) over |x| up to ten sigma: from below."""
    rate = _rate(sigma)
    return 1 + 2 * math.fsum(math.exp(-x * x * rate) for x in range(1, _terms(sigma)))


def _summed_tail(sigma: Fraction, k: int) -> float:
    rate = _rate(sigma)
    # Relative to the first term, so that a far tail keeps its precision.
    relative = math.fsum(math.exp(-(2 * k + j) * j * rate) for j in range(_terms(sigma)))
    return math.exp(-k * k * rate) * relative / _mass(sigma)


def _normal_tail(sigma: Fraction, k: int) -> float:
    """P(N >= (k - 1/2) / sigma) for a standard normal N: above the discrete tail for every k >= 1."""
    return math.erfc(float(Fraction(2 * k - 1, 2) / sigma) / math.sqrt(2)) / 2
