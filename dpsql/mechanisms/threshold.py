"""How large must a noisy count be before its group may be shown?"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from typing import Final

from dpsql import errors
from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.quantile import first_below

SMALLEST_DELTA: Final = Decimal("1e-20")
LARGEST_L0: Final = 1 << 62

# 1 - delta needs 20 digits, the l0-th root 19 more: 40 digits are left, of which 30 are used.
_CONTEXT: Final = Context(prec=80)
_DOWN: Final = 1 - Decimal("1e-30")


def tau(mechanism: Laplace | Gaussian, *, unit: int, delta: Decimal, l0: int, minimum: int = 1) -> int:
    """Smallest noisy count that shows a private group.

    Groups of fewer than `minimum` persons are dropped before noise; a group is shown iff
    persons * `unit` + noise >= tau. One person can make at most `l0` groups reach the minimum, and with
    probability at least 1 - `delta` none of them is shown: the noise alone is at least tau - minimum * unit
    with probability at most d = 1 - (1 - delta)^(1 / l0) in each. Hence the true counts minimum and
    minimum - 1 are both covered, and delta is the query's share of the slack.

    Args:
        mechanism: noise of the count, in lattice steps, drawn independently for each group.
        unit: lattice steps a counted person is worth; >= 1.
        delta: from 1e-20 to below 1.
        l0: groups one person can be in; >= 1.
        minimum: persons a group needs, whatever the noise; >= 1.

    Returns:
        The threshold in lattice steps, rounded up.

    Raises:
        UnsupportedQuery: a number is out of its range.

    Source: geometric and normal tails; derived in docs/proofs/samplers.md.

    >>> from fractions import Fraction
    >>> tau(Laplace(Fraction(1)), unit=1, delta=Decimal("1e-6"), l0=1)
    15
    """
    _require(delta, l0=l0, unit=unit, minimum=minimum)
    return minimum * unit + first_below(mechanism.tail, _per_group(delta, l0), _last(mechanism))


def _per_group(delta: Decimal, l0: int) -> Decimal:
    """1 - (1 - delta)^(1 / l0), rounded down."""
    with localcontext(_CONTEXT):
        return (1 - ((1 - delta).ln() / l0).exp()) * _DOWN


def _last(mechanism: Laplace | Gaussian) -> int:
    """A noise value whose tail is below 1e-200, so below every chance that `_require` lets through."""
    match mechanism:
        case Laplace(scale=scale):
            return math.ceil(500 * scale) + 1
        case Gaussian(sigma=sigma):
            return math.ceil(32 * sigma) + 1


def _require(delta: Decimal, *, l0: int, unit: int, minimum: int) -> None:
    if not (delta.is_finite() and delta >= SMALLEST_DELTA and delta < 1):
        raise errors.UnsupportedQuery(
            errors.UNSAFE_NUMBER,
            f"A threshold cannot be set for delta {delta}: it is not from {SMALLEST_DELTA} to below 1.",
            hint="State a larger delta, as in delta 1e-9, or group by keys with a public domain.",
        )
    if not (1 <= l0 <= LARGEST_L0 and unit >= 1 and minimum >= 1):
        raise errors.UnsupportedQuery(
            errors.UNSAFE_NUMBER,
            f"A threshold needs counts from 1: groups {l0}, steps per person {unit}, minimum {minimum}.",
            hint="Look at the bounds of the table in the policy.",
        )
