"""How does discrete Laplace noise spread?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.quantile import first_below, one_sided_miss
from dpsql.mechanisms.sampler import LARGEST_SCALE, NoiseSource, require_scale

# exp(-x) for x <= 745 is off by at most 745 * 2^-53 for the rounding of x, and a few ulps: below 1e-13.
_UP: Final = 1 + 1e-12
# exp(-740) is about 4e-322: the tail is below every chance that is asked for.
_LAST: Final = 740


@dataclass(frozen=True, slots=True)
class Laplace:
    """Discrete Laplace noise on a lattice: P(x) ~ exp(-|x| / scale).

    Attributes:
        scale: in lattice steps; from 2^-40 to 2^40, else UnsupportedQuery.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        require_scale(self.scale, LARGEST_SCALE)

    def draw(self, source: NoiseSource, size: int) -> NDArray[np.int64]:
        """Draw `size` independent integers, in lattice steps."""
        return source.discrete_laplace(self.scale, size)

    def std(self) -> float:
        """Standard deviation in lattice steps: sqrt(2 q) / (1 - q), q = exp(-1 / scale).

        >>> round(Laplace(Fraction(1)).std(), 6)
        1.356962
        """
        half = float(1 / (2 * self.scale))
        return math.sqrt(2) * math.exp(-half) / -math.expm1(-2 * half)

    def half_width(self, confidence: float = 0.95) -> int:
        """Smallest t, in lattice steps, with P(|X| > t) <= 1 - confidence.

        >>> Laplace(Fraction(10)).half_width()
        30
        """
        return first_below(self.tail, one_sided_miss(confidence), math.ceil(_LAST * self.scale) + 1) - 1

    def tail(self, k: int) -> float:
        """Upper bound of P(X >= k): q^k / (1 + q) rounded up for k >= 1, and 1 for k < 1."""
        if k < 1:
            return 1.0
        rest = math.exp(-float(k / self.scale)) / (1 + math.exp(-float(1 / self.scale)))
        return math.nextafter(rest * _UP, 1.0)
