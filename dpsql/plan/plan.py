"""What will be done, at what price, with what error."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

from dpsql.analysis.aggregates import Measure
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.sensitivity import UNIT, Sensitivity
from dpsql.mechanisms import Gaussian, Mechanism
from dpsql.plan.charge import Charge
from dpsql.plan.explain import describe, text
from dpsql.plan.noise import Noise
from dpsql.plan.price import Price

__all__ = ["Charge", "Measurement", "Outlook", "Plan", "PublicPlan"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One noisy vector of cells, in the answer's unit.

    Attributes:
        sql: the measured aggregate as the analyst would write it.
        l1: the most one privacy unit can move the vector, as a sum over cells.
        l2: the same as a Euclidean norm.
        mechanism: ``laplace`` or ``gaussian``.
        scale: Laplace's b or Gaussian's sigma.
        error: half-width that a cell's noise stays within with probability 95 %.
        keys: names of the group keys.
    """

    sql: str
    l1: float
    l2: float
    mechanism: str
    scale: float
    error: float
    keys: tuple[str, ...]
    measure: Measure = field(repr=False)
    noise: Noise = field(repr=False)

    @property
    def step(self) -> Fraction:
        """The answer's unit per noisy lattice step."""
        return step_of(self.measure, self.noise)

    @property
    def half_width(self) -> float:
        """The error of a released cell: of the noise, and half a step for the rounding after it."""
        rounding = Fraction(1) if self.measure.grid is None else self.measure.grid.step
        return self.error + float(rounding / 2)


def step_of(measure: Measure, noise: Noise) -> Fraction:
    """The answer's unit per lattice step after the noise lattice is taken."""
    grid = Fraction(1) if measure.grid is None else measure.grid.step
    return grid * noise.lattice / UNIT


@lru_cache(maxsize=4096)
def _half_width(mechanism: Mechanism) -> int:
    return mechanism.half_width()


def measurement(measure: Measure, part: Sensitivity, noise: Noise, keys: tuple[str, ...]) -> Measurement:
    """The public figures of one measure and its noise."""
    step = step_of(measure, noise)
    exact = step / noise.lattice
    mechanism = noise.mechanism
    gaussian = isinstance(mechanism, Gaussian)
    scale = mechanism.sigma if isinstance(mechanism, Gaussian) else mechanism.scale
    return Measurement(
        sql=measure.label,
        l1=float(part.l1 * exact),
        l2=float(Fraction(part.l2_squared) ** 0.5) * float(exact),
        mechanism="gaussian" if gaussian else "laplace",
        scale=float(scale * step),
        error=float(_half_width(mechanism) * step),
        keys=keys,
        measure=measure,
        noise=noise,
    )


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the plan would leave of one account: rules that survive, and how many more such queries fit."""

    account: str
    rules: dict[str, float]
    more: int


@dataclass(frozen=True)
class Plan:
    """A priced query: nothing has been read or spent yet.

    ``threshold`` is the noisy count of units, in lattice steps, that a private group must reach;
    ``sql`` is the statement that will run on the private database ($cap_key stands for a secret).
    """

    analysis: Analysis = field(repr=False)
    price: Price
    measurements: tuple[Measurement, ...]
    charges: tuple[Charge, ...]
    threshold: int | None
    sql: str = ""
    outlook: tuple[Outlook, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides the answer's law: the canonical query, its noise and its price."""
        analysis = self.analysis
        owner = (analysis.owner.path, sorted(analysis.owner.constants))
        rows = (analysis.rows.bound, analysis.rows.fanout)
        noise = tuple((m.measure, m.noise) for m in self.measurements)
        # Sets have no order of their own: their text differs from process to process.
        parts = (analysis.query, owner, rows, analysis.partitioning, noise, self.price, self.threshold)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @property
    def threshold_units(self) -> float | None:
        """The threshold as a number of privacy units."""
        if self.threshold is None:
            return None
        index = self.analysis.threshold
        return None if index is None else float(self.threshold * self.measurements[index].step)

    def to_dict(self) -> dict[str, object]:
        """The plan for JSON."""
        return describe(self)

    def __str__(self) -> str:
        return text(self)


@dataclass(frozen=True, slots=True)
class PublicPlan:
    """The plan of a query over public tables: exact, free, nothing to measure or charge."""

    sql: str
    measurements: tuple[Measurement, ...] = ()
    charges: tuple[Charge, ...] = ()
    threshold_units: None = None
    outlook: tuple[Outlook, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The plan for JSON."""
        return {"measurements": [], "threshold_units": None, "charges": [], "outlook": [], "sql": self.sql}

    def __str__(self) -> str:
        return f"The query reads public tables only: exact and free.\n\n{self.sql}"
