"""How much of a Gaussian-DP budget does a history leave?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import Final, assert_never

from dpsql.accounting.event import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    NonPrivate,
    Pure,
    Simple,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
    parts,
    read_hex,
)
from dpsql.accounting.filters.rule import LIMIT, check_floats
from dpsql.accounting.loss import discrete_mu2, mu2_of
from dpsql.accounting.residue import AUDIT_MARGIN, floor_pure, needed_before, residue_pure, v_needed
from dpsql.accounting.rounding import RELATIVE, float_up, spend, times
from dpsql.accounting.subsampling import amplified

_EVALUATIONS: Final = 4000
"""`more` follows so many prices one by one (some milliseconds) before it extrapolates."""


def _terms(event: Simple) -> tuple[float, float]:
    """(mu^2 of a Gaussian step, epsilon of a pure step); one of them is 0, both for a mere threshold."""
    match event:
        case Gaussian():
            return event.mu2, 0.0
        case DiscreteGaussian():
            return discrete_mu2(event), 0.0
        case SubsampledGaussian():
            return mu2_of(event), 0.0
        case NonPrivate():
            return inf, 0.0
        case Pure() | DiscreteLaplace() | Laplace() | NoisyMax() | Approximate():
            return 0.0, float_up(event.epsilon)
        case SubsampledPure():
            return 0.0, float_up(amplified(event.probability, event.epsilon))
        case Exponential():
            return 0.0, 0.5 * float_up(event.epsilon)
        case Threshold():
            return 0.0, 0.0
        case _:
            assert_never(event)


def _after(v: float, event: Simple) -> float:
    """What remains of `v`; negative if the event does not fit."""
    mu2, epsilon = _terms(event)
    if mu2:
        return spend(v, mu2)
    if not epsilon:
        return v
    rest = residue_pure(v, epsilon)
    return -inf if rest is None else spend(v, v - rest)


def _before(v: float, event: Simple) -> float:
    """What `_after` needs to leave `v`, within its surcharges and rounded up."""
    mu2, epsilon = _terms(event)
    charge = mu2 if mu2 else needed_before(v, epsilon) - v if epsilon else 0.0
    return nextafter(v + charge * (1.0 + 2.0 * RELATIVE), inf)


def _least_before(v: float, event: Simple) -> float:
    """What the theorem needs to leave `v`, with no more surcharge than other libms may differ by."""
    mu2, epsilon = _terms(event)
    if not epsilon:
        return v + mu2
    return max(v_needed(v, epsilon) * (1.0 + AUDIT_MARGIN), v + floor_pure(epsilon) / (1.0 + RELATIVE))


@dataclass(frozen=True, slots=True)
class Residue:
    """What remains of a budget v = mu^2.

    Invariant: the history together with a sqrt(rest)-GDP future is sqrt(budget)-GDP.

    The price of a pure event depends on what remains, hence on the order of events; it is deterministic.
    Proof: docs/proofs/residue.md. The exponential mechanism at half its epsilon and the discrete Gaussian's
    factor are checked numerically, not proved.
    """

    budget: float
    rest: float

    def __post_init__(self) -> None:
        check_floats(self.budget, self.rest)

    @property
    def name(self) -> str:
        """Its name in an account."""
        return "residue"

    @property
    def remaining(self) -> float:
        """What is left as a fraction of the budget."""
        return self.rest / self.budget

    def step(self, event: Event) -> Residue | None:
        """The rule after the event, or None."""
        rest = self.rest
        for part in parts(event):
            rest = _after(rest, part)
            if rest < 0.0:
                return None
        return replace(self, rest=rest)

    def more(self, event: Event) -> int:
        """How many such events fit: what n of them need is followed backwards from a remainder of 0.

        Past `_EVALUATIONS` prices the last price, which bounds all later ones, stands for the rest.
        """
        steps = parts(event)
        needed = previous = 0.0
        followed = max(1, _EVALUATIONS // len(steps))
        for count in range(followed):
            previous = needed
            for part in reversed(steps):
                needed = _before(needed, part)
            if needed > self.rest:
                return count
        return min(LIMIT, followed + times(self.rest - needed, (needed - previous) * (1.0 + 1e-8), LIMIT))

    def covers(self, event: Event, after: Residue) -> bool:
        """Whether what `after` keeps, and the event before it, fit into what was here."""
        needed = after.rest
        for part in reversed(parts(event)):
            needed = _least_before(needed, part)
        return self.budget == after.budget and needed <= self.rest

    def to_dict(self) -> dict[str, object]:
        """Canonical JSON-able form."""
        return {"rule": "residue", "budget": self.budget.hex(), "rest": self.rest.hex()}

    @staticmethod
    def from_dict(source: Mapping[str, object]) -> Residue:
        """The rule of a `to_dict` form."""
        return Residue(read_hex(source["budget"]), read_hex(source["rest"]))
