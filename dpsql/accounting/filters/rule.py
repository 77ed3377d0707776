"""What does every rule of a privacy filter answer?"""

from __future__ import annotations

from decimal import Decimal
from math import inf
from typing import Final, Protocol, Self

from dpsql.accounting.event import Event

LIMIT: Final = 10**6
"""`more` counts no further."""


class Rule(Protocol):
    """One way to add up losses, with what is left of its budget; immutable.

    A rule prices an event without its delta, which is for `Slack`. It is valid at its own (epsilon, delta_j)
    against any adversary who chooses each next event after all earlier outputs and refusals.
    """

    @property
    def name(self) -> str:
        """Short name, unique within one account."""

    @property
    def remaining(self) -> float:
        """What is left as a fraction of the budget; 1.0 = untouched."""

    def step(self, event: Event) -> Self | None:
        """The rule after the event; None if its budget is exceeded or it has no price for the event."""

    def more(self, event: Event) -> int:
        """How many further events like this one it would admit, at most `LIMIT`; never too high."""

    def covers(self, event: Event, after: Self) -> bool:
        """Whether `after` took at least the price of the event: an inequality, because libms differ."""


class PrivacyFilter(Protocol):
    """Refuses the step that would break the promise; immutable."""

    def step(self, event: Event) -> Self | None:
        """The filter after the event, or None: refused, and nothing has changed."""

    def more(self, event: Event) -> int:
        """How many further events like this one it would admit, at most `LIMIT`; never too high."""


def check_floats(budget: float, rest: float) -> None:
    """Refuse what no sequence of steps leads to; NaN fails every comparison."""
    if not 0.0 <= rest <= budget < inf or not budget > 0.0:
        raise ValueError(f"a rule's rest must be between 0 and its budget; got {rest!r} of {budget!r}")


def check_decimals(budget: Decimal, rest: Decimal) -> None:
    """The same for exact numbers."""
    if not (budget.is_finite() and rest.is_finite()) or not 0 <= rest <= budget:
        raise ValueError(f"a rest must be between 0 and its budget; got {rest} of {budget}")
