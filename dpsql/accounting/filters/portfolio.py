"""Does some rule that covered every executed query still stand?

Guarantee: (epsilon, delta)-DP, fully adaptive, of any length; Theorem P, docs/proofs/portfolio.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from dpsql.accounting.conversion import best_order, mu_for, rdp_budget
from dpsql.accounting.event import Event, decimal_text, read_decimal
from dpsql.accounting.filters.additive import Additive, Renyi
from dpsql.accounting.filters.basic import Basic, Slack
from dpsql.accounting.filters.remainder import Residue
from dpsql.accounting.normal import hockey_stick
from dpsql.accounting.rounding import EXACT, float_down

RESIDUE_SHARE: Final = Decimal("0.9")
RENYI_SHARE: Final = Decimal("0.1")
"""Shares of the delta that is not slack. They add up to 1; `basic` needs none."""

ORDER_FACTOR: Final = 1.5
"""The Renyi order is this multiple of the best one for zCDP; pure steps, which basic lacks room for, gain."""

MAX_V: Final = 60.0
"""Largest Gaussian budget for which the float error of the residue's price was measured."""

_MAX_EPSILON: Final = Decimal(700)
_FORMAT: Final = 1
_LIBM: Final = 1.0 + 1e-9

AnyRule: TypeAlias = Basic | Residue | Additive


@dataclass(frozen=True, slots=True)
class Portfolio:
    """An account's filter. Invariant: each live rule has covered every executed event within its budget.

    A rule that an executed event exceeds is dropped and never comes back. The deltas of the live rules and of
    the slack add up to at most `delta`.
    """

    epsilon: Decimal
    delta: Decimal
    slack_share: Decimal
    live: tuple[AnyRule, ...]
    slack: Slack

    @staticmethod
    def open(epsilon: Decimal, delta: Decimal, *, slack_share: Decimal = Decimal(0)) -> Portfolio:
        """A fresh account of budget (epsilon, delta).

        Args:
            epsilon: budget, > 0.
            delta: budget, 0 <= delta < 1; at 0 only pure events are admitted.
            slack_share: part of delta kept for thresholds and (epsilon, delta) boxes, 0 <= share < 1.

        Raises:
            ValueError: the budget is out of range, or so large that its Gaussian equivalent is above `MAX_V`.
        """
        check_budget(epsilon, delta, slack_share)
        slack, conversion = split(delta, slack_share)
        live: tuple[AnyRule, ...] = (Basic(epsilon, epsilon),)
        if conversion:
            live += _approximate_rules(epsilon, conversion)
        return Portfolio(epsilon, delta, slack_share, live, slack)

    @property
    def alive(self) -> frozenset[str]:
        """Names of the live rules."""
        return frozenset(rule.name for rule in self.live)

    def rules(self) -> dict[str, float]:
        """What remains of each live rule, and of the slack where there is any; 1.0 = untouched."""
        fractions = {rule.name: rule.remaining for rule in self.live}
        if self.slack.budget:
            fractions["slack"] = self.slack.remaining
        return fractions

    def step(self, event: Event) -> Portfolio | None:
        """The account after the event, or None: refused, and nothing has changed.

        A composed event is one step: a rule survives it only if it covers all parts.
        """
        slack = self.slack.step(event)
        if slack is None:
            return None
        live = tuple(after for rule in self.live if (after := rule.step(event)) is not None)
        return replace(self, live=live, slack=slack) if live else None

    def more(self, event: Event) -> int:
        """How many further events like this one would be admitted, at most 10^6; never too high."""
        room = self.slack.more(event)
        return min(room, max(rule.more(event) for rule in self.live)) if room else 0

    def to_dict(self) -> dict[str, object]:
        """Canonical JSON-able form: decimals as strings, floats as hex."""
        return {
            "format": _FORMAT,
            "epsilon": decimal_text(self.epsilon),
            "delta": decimal_text(self.delta),
            "slack_share": decimal_text(self.slack_share),
            "live": [rule.to_dict() for rule in self.live],
            "slack": self.slack.to_dict(),
        }

    @staticmethod
    def from_dict(source: Mapping[str, object]) -> Portfolio:
        """The account of a `to_dict` form.

        Raises:
            ValueError: the form is not one that `to_dict` writes. Whether its numbers follow from its history
                is for `check_open` and `check_step`.
        """
        live, slack = source.get("live"), source.get("slack")
        if source.get("format") != _FORMAT or not isinstance(live, list) or not isinstance(slack, Mapping):
            raise ValueError("not the stored form of an account, or of another version")
        try:
            rules = tuple(_rule_from_dict(rule) for rule in live)
            budget = _read_budget(source["epsilon"], source["delta"], source["slack_share"])
            rest = Slack.from_dict(slack)
        except KeyError as missing:
            raise ValueError(f"the stored form of an account lacks {missing}") from None
        if not rules or len({rule.name for rule in rules}) != len(rules):
            raise ValueError("a stored account has at least one rule and none twice")
        return Portfolio(budget[0], budget[1], budget[2], rules, rest)


def check_step(before: Portfolio, event: Event, after: Portfolio) -> bool:
    """The auditor's check: `after` promises no more than the event leaves of `before`.

    Decimals must agree exactly; floats are checked as inequalities because libms differ in the last bits.
    Rules may only die, and at least one must have survived.
    """
    budget = (before.epsilon, before.delta, before.slack_share)
    if budget != (after.epsilon, after.delta, after.slack_share) or before.slack.step(event) != after.slack:
        return False
    earlier = {rule.name: rule for rule in before.live}
    return bool(after.live) and all(_covers(earlier.get(rule.name), event, rule) for rule in after.live)


def check_open(account: Portfolio) -> bool:
    """The auditor's check of a fresh account: each rule's budget is valid at its own share of delta."""
    slack, conversion = split(account.delta, account.slack_share)
    fits = all(_is_fresh(rule, account.epsilon, conversion) for rule in account.live)
    return bool(account.live) and fits and account.slack == slack


def check_budget(epsilon: Decimal, delta: Decimal, slack_share: Decimal) -> None:
    """Refuse a budget no filter can guard; ValueError says why."""
    for name, value in (("epsilon", epsilon), ("delta", delta), ("slack share", slack_share)):
        if not value.is_finite() or len(value.as_tuple().digits) > 60 or abs(value.adjusted()) > 60:
            raise ValueError(f"a budget's {name} must be a finite number of at most 60 digits; got {value}")
    if not epsilon > 0:
        raise ValueError(f"a budget's epsilon must be above 0; got {epsilon}")
    if not 0 <= delta < 1:
        raise ValueError(f"a budget's delta must be at least 0 and below 1; got {delta}")
    if not 0 <= slack_share < 1:
        raise ValueError(f"the slack share must be at least 0 and below 1; got {slack_share}")
    if delta and (epsilon > _MAX_EPSILON or _too_large(epsilon, delta)):
        raise ValueError(f"a budget of epsilon {epsilon} at delta {delta} is too large to account for")


def split(delta: Decimal, slack_share: Decimal) -> tuple[Slack, Decimal]:
    """(slack, the delta left for conversion); they add up to `delta` exactly."""
    slack = EXACT.multiply(delta, slack_share)
    return Slack(slack, slack), EXACT.subtract(delta, slack)


def _read_budget(epsilon: object, delta: object, slack_share: object) -> tuple[Decimal, Decimal, Decimal]:
    if isinstance(epsilon, str) and isinstance(delta, str) and isinstance(slack_share, str):
        return _checked_budget(epsilon, delta, slack_share)
    raise ValueError("the decimal numbers of a budget are stored as strings")


@lru_cache(maxsize=256)
def _checked_budget(epsilon: str, delta: str, slack_share: str) -> tuple[Decimal, Decimal, Decimal]:
    # Cached because a replay reads the same few budgets with every state.
    budget = read_decimal(epsilon), read_decimal(delta), read_decimal(slack_share)
    check_budget(*budget)
    return budget


def _too_large(epsilon: Decimal, delta: Decimal) -> bool:
    return hockey_stick(float_down(epsilon), MAX_V) <= delta


def _approximate_rules(epsilon: Decimal, conversion: Decimal) -> tuple[AnyRule, ...]:
    """The residue and the Renyi rule, each at its own share of delta; one without room is not opened."""
    bound = float_down(epsilon)
    rules: tuple[AnyRule, ...] = ()
    mu = mu_for(bound, _share(conversion, RESIDUE_SHARE))
    v = mu * mu * (1.0 - 1e-15)
    if v > 0.0:
        rules += (Residue(v, v),)
    share = _share(conversion, RENYI_SHARE)
    alpha = ORDER_FACTOR * best_order(bound, share)
    budget = rdp_budget(alpha, bound, share)
    if budget > 0.0:
        rules += (Additive("rdp", Renyi(alpha), budget, budget),)
    return rules


def _share(conversion: Decimal, share: Decimal) -> float:
    return float_down(EXACT.multiply(conversion, share))


def _covers(before: AnyRule | None, event: Event, after: AnyRule) -> bool:
    match before, after:
        case Basic(), Basic():
            return before.covers(event, after)
        case Residue(), Residue():
            return before.covers(event, after)
        case Additive(), Additive():
            return before.covers(event, after)
        case _:
            return False


def _is_fresh(rule: AnyRule, epsilon: Decimal, conversion: Decimal) -> bool:
    match rule:
        case Basic():
            return rule == Basic(epsilon, epsilon)
        case Residue():
            mu = mu_for(float_down(epsilon), _share(conversion, RESIDUE_SHARE)) if conversion else 0.0
            return rule.rest == rule.budget <= mu * mu * _LIBM
        case Additive(name="rdp", currency=Renyi(alpha)) if conversion and alpha > 1.0:
            bound = rdp_budget(alpha, float_down(epsilon), _share(conversion, RENYI_SHARE))
            return rule.rest == rule.budget <= bound * _LIBM
        case Additive():
            return False
        case _:
            assert_never(rule)


def _rule_from_dict(source: object) -> AnyRule:
    if not isinstance(source, Mapping):
        raise ValueError("a stored rule is an object")
    match source["rule"]:
        case "basic":
            return Basic.from_dict(source)
        case "residue":
            return Residue.from_dict(source)
        case "renyi" | "concentrated" | "gaussian_dp":
            return Additive.from_dict(source)
        case other:
            raise ValueError(f"unknown rule {other!r}")
