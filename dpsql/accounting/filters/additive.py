"""Do losses of one fixed currency add up to no more than the budget?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from dpsql.accounting.event import Event, read_hex
from dpsql.accounting.filters.rule import LIMIT, check_floats
from dpsql.accounting.loss import mu2_of, renyi_of, rho_of
from dpsql.accounting.rounding import spend, times


@dataclass(frozen=True, slots=True)
class Renyi:
    """Renyi divergence of one order, fixed before the first query.

    Source: Feldman & Zrnic 2021, Theorem 4.3; exp((alpha - 1)(L_n - sum D_i)) is a supermartingale.
    """

    alpha: float


@dataclass(frozen=True, slots=True)
class Concentrated:
    """zCDP: rho adds up (Whitehouse, Ramdas, Rogers & Wu 2023, arXiv:2203.05481)."""


@dataclass(frozen=True, slots=True)
class GaussianDp:
    """mu^2 of Gaussian DP adds up; pure events at their own, dear mu^2."""


Currency: TypeAlias = Renyi | Concentrated | GaussianDp


def price(currency: Currency, event: Event) -> float:
    """Loss of the event in the currency, within a few ulp."""
    match currency:
        case Renyi():
            return renyi_of(event, currency.alpha)
        case Concentrated():
            return rho_of(event)
        case GaussianDp():
            return mu2_of(event)
        case _:
            assert_never(currency)


@dataclass(frozen=True, slots=True)
class Additive:
    """A float budget of one currency. Invariant: rest + sum of executed prices <= budget, and rest >= 0."""

    name: str
    currency: Currency
    budget: float
    rest: float

    def __post_init__(self) -> None:
        check_floats(self.budget, self.rest)

    @property
    def remaining(self) -> float:
        """What is left as a fraction of the budget."""
        return self.rest / self.budget

    def step(self, event: Event) -> Additive | None:
        """The rule after the event, or None."""
        charge = price(self.currency, event)
        if charge <= 0.0:
            return self
        rest = spend(self.rest, charge)
        return replace(self, rest=rest) if rest >= 0.0 else None

    def more(self, event: Event) -> int:
        """How many such events fit."""
        return times(self.rest, price(self.currency, event), LIMIT)

    def covers(self, event: Event, after: Additive) -> bool:
        """Whether `after` took at least the price."""
        same = (self.name, self.currency, self.budget) == (after.name, after.currency, after.budget)
        return same and after.rest <= self.rest - price(self.currency, event)

    def to_dict(self) -> dict[str, object]:
        """Canonical JSON-able form."""
        numbers: dict[str, object] = {"name": self.name, "budget": self.budget.hex(), "rest": self.rest.hex()}
        match self.currency:
            case Renyi():
                return {"rule": "renyi", "alpha": self.currency.alpha.hex(), **numbers}
            case Concentrated():
                return {"rule": "concentrated", **numbers}
            case GaussianDp():
                return {"rule": "gaussian_dp", **numbers}
            case _:
                assert_never(self.currency)

    @staticmethod
    def from_dict(source: Mapping[str, object]) -> Additive:
        """The rule of a `to_dict` form."""
        name, rule = source["name"], source["rule"]
        if not isinstance(name, str):
            raise ValueError("the name of a rule is a string")
        currency: Currency
        if rule == "renyi":
            currency = Renyi(read_hex(source["alpha"]))
        else:
            currency = Concentrated() if rule == "concentrated" else GaussianDp()
        return Additive(name, currency, read_hex(source["budget"]), read_hex(source["rest"]))
