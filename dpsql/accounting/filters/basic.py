"""Do the pure epsilons add up to no more than the budget?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from dpsql.accounting.event import Event, decimal_text, read_decimal
from dpsql.accounting.filters.rule import LIMIT, check_decimals
from dpsql.accounting.loss import delta_of, epsilon_of
from dpsql.accounting.rounding import EXACT


def exact_times(rest: Decimal, charge: Decimal) -> int:
    """How often `charge` fits into `rest`, at most `LIMIT`."""
    if charge == 0:
        return LIMIT
    if EXACT.multiply(charge, Decimal(LIMIT)) <= rest:
        return LIMIT
    return int(EXACT.divide_int(rest, charge))


@dataclass(frozen=True, slots=True)
class Basic:
    """Sum of epsilons, exact. Invariant: rest = budget - sum of executed epsilons >= 0.

    Valid at delta 0. A Gaussian has no pure epsilon and so kills the rule.
    """

    budget: Decimal
    rest: Decimal

    def __post_init__(self) -> None:
        check_decimals(self.budget, self.rest)

    @property
    def name(self) -> str:
        """Its name in an account."""
        return "basic"

    @property
    def remaining(self) -> float:
        """What is left as a fraction of the budget."""
        return float(self.rest / self.budget)

    def step(self, event: Event) -> Basic | None:
        """The rule after the event, or None."""
        epsilon = epsilon_of(event)
        if epsilon is None or epsilon > self.rest:
            return None
        return Basic(self.budget, EXACT.subtract(self.rest, epsilon))

    def more(self, event: Event) -> int:
        """How many such events fit."""
        epsilon = epsilon_of(event)
        return 0 if epsilon is None else exact_times(self.rest, epsilon)

    def covers(self, event: Event, after: Basic) -> bool:
        """Whether `after` is exactly this rule after the event."""
        return self.step(event) == after

    def to_dict(self) -> dict[str, object]:
        """Canonical JSON-able form."""
        return {"rule": "basic", "budget": decimal_text(self.budget), "rest": decimal_text(self.rest)}

    @staticmethod
    def from_dict(source: Mapping[str, object]) -> Basic:
        """The rule of a `to_dict` form."""
        return Basic(read_decimal(source["budget"]), read_decimal(source["rest"]))


@dataclass(frozen=True, slots=True)
class Slack:
    """Sum of the deltas that events need besides their loss, exact. Invariant: 0 <= rest <= budget.

    Proof: Lemma S, docs/proofs/slack.md. Unlike a rule it does not die: a refused delta changes nothing.
    """

    budget: Decimal
    rest: Decimal

    def __post_init__(self) -> None:
        check_decimals(self.budget, self.rest)

    @property
    def remaining(self) -> float:
        """What is left as a fraction of the budget; 0.0 where there is none."""
        return float(self.rest / self.budget) if self.budget else 0.0

    def step(self, event: Event) -> Slack | None:
        """The slack after the event, or None."""
        delta = delta_of(event)
        return None if delta > self.rest else Slack(self.budget, EXACT.subtract(self.rest, delta))

    def more(self, event: Event) -> int:
        """How many such events fit."""
        return exact_times(self.rest, delta_of(event))

    def to_dict(self) -> dict[str, object]:
        """Canonical JSON-able form."""
        return {"budget": decimal_text(self.budget), "rest": decimal_text(self.rest)}

    @staticmethod
    def from_dict(source: Mapping[str, object]) -> Slack:
        """The slack of a `to_dict` form."""
        return Slack(read_decimal(source["budget"]), read_decimal(source["rest"]))
