"""With which 256-bit odds does each binary digit of a draw come up?

A row of a table is one probability p as floor(2^256 p), 32 bytes, the highest first: p to within 2^-256.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import (
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Table: TypeAlias = NDArray[np.uint8]

PLACES: Final = 32
# 256 ln 2 = 177.4...: what happens with probability exp(-178) is below one unit of 2^-256.
REACH: Final = 178

_CERTAIN: Final = 1 << 8 * PLACES
_HALF: Final = Decimal("0.5")
_CONTEXT: Final = Context(
    prec=112,
    rounding=ROUND_HALF_EVEN,
    Emin=-999_999,
    Emax=999_999,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)


@lru_cache(maxsize=256)
def laplace(scale: Fraction) -> Table:
    """Odds of the digits of a discrete Laplace draw x, P(x) ~ exp(-|x| / scale).

    Returns:
        The digits of |x| - 1 given x != 0 (a geometric variable, whose digits are independent), lowest first:
        1 / (1 + exp(2^i / scale)); then x != 0: 2 q / (1 + q) where q = exp(-1 / scale) is
        P(|x| = 1 + n) / P(|x| = n) for n > 0; then the sign: 1/2.

    Derived in docs/proofs/samplers.md.
    """
    with localcontext(_CONTEXT):
        powers = [_exp(-(1 << i) / scale) for i in range(int(REACH * scale).bit_length())]
        step = _exp(-1 / scale)
        digits = [power / (1 + power) for power in powers]
        return _table([*digits, 2 * step / (1 + step), _HALF])


@lru_cache(maxsize=256)
def failure(unit: Fraction, bound: int) -> Table:
    """Odds 1 - exp(-2^i / unit) of a failure for each binary digit i of the integers up to `bound`.

    An integer a survives a failure at none of its digits that are 1 with probability exp(-a / unit).
    """
    with localcontext(_CONTEXT):
        return _table([1 - _exp(-(1 << i) / unit) for i in range(bound.bit_length())])


def _exp(exponent: Fraction) -> Decimal:
    """exp(exponent) in the precision of the context in force."""
    return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


def _table(chances: Iterable[Decimal]) -> Table:
    # A chance that rounds to 1 becomes 1 - 2^-256, the largest that 256 bits hold.
    units = [min(int(chance * _CERTAIN), _CERTAIN - 1) for chance in chances]
    rows = b"".join(unit.to_bytes(PLACES, "big") for unit in units)
    return np.frombuffer(rows, dtype=np.uint8).reshape(-1, PLACES)
