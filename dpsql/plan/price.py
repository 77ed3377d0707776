"""What may this query cost?"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from dpsql import errors
from dpsql.errors import PolicyRefused
from dpsql.policy.model import Policy

SMALLEST_EPSILON: Final = Decimal("1e-6")
LARGEST_EPSILON: Final = Decimal(50)
SMALLEST_DELTA: Final = Decimal("1e-20")


@dataclass(frozen=True, slots=True)
class Price:
    """The privacy loss a whole query is calibrated to."""

    epsilon: Decimal
    delta: Decimal


def price(policy: Policy, epsilon: Decimal | None = None, delta: Decimal | None = None) -> Price:
    """The price of one query: what is asked for, else the policy's default; never above its cap.

    Raises:
        PolicyRefused: DP209 without a default, DP210 above the cap, DP215 out of the accountable range.
    """
    default = policy.per_query
    chosen_epsilon = epsilon if epsilon is not None else (default.epsilon if default else None)
    if chosen_epsilon is None:
        raise PolicyRefused(
            errors.UNDECLARED,
            "The policy has no default price, so the query must state its epsilon.",
            hint="Give epsilon=..., or --epsilon on the command line.",
        )
    chosen_delta = delta if delta is not None else (default.delta if default else Decimal(0))
    _check(chosen_epsilon, chosen_delta)
    if default is not None and default.max_epsilon is not None and chosen_epsilon > default.max_epsilon:
        raise PolicyRefused(
            errors.OVER_CAP,
            f"Epsilon {chosen_epsilon:f} is above the policy's cap of {default.max_epsilon:f} a query.",
            hint=f"Ask with an epsilon of at most {default.max_epsilon:f}.",
        )
    return Price(chosen_epsilon, chosen_delta)


def _check(epsilon: Decimal, delta: Decimal) -> None:
    if not epsilon.is_finite() or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise PolicyRefused(
            errors.UNSAFE_NUMBER, f"Epsilon must lie between {SMALLEST_EPSILON} and {LARGEST_EPSILON}."
        )
    if not delta.is_finite() or (delta != 0 and not SMALLEST_DELTA <= delta < 1):
        raise PolicyRefused(errors.UNSAFE_NUMBER, f"Delta must be 0 or lie between {SMALLEST_DELTA} and 1.")
