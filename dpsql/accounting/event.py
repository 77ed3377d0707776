"""What left the mechanism: which noise, how large against one unit's part?

An event says what was released, never what it costs; a later accountant can price old events anew.
The meaning of a class is frozen: a new mechanism is a new class. All sensitivities are for adding or removing
one unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Final, TypeAlias, assert_never

from dpsql.accounting.rounding import EXACT
from dpsql.accounting.subsampling import amplified

MIN_EPSILON: Final = Decimal("1e-6")
MAX_EPSILON: Final = Decimal(50)
MIN_DELTA: Final = Decimal("1e-20")
MIN_MU2: Final = 1e-12
MAX_MU2: Final = 1e6
MIN_VARIANCE: Final = 4.0
MIN_PROBABILITY: Final = 1e-9
MIN_NOISE: Final = 0.01
MAX_NOISE: Final = 1e6
MAX_STEPS: Final = 10**9
_MAX_DIGITS: Final = 100


def _exact(name: str, value: object) -> Decimal:
    if not isinstance(value, Decimal):
        raise ValueError(f"{name} must be a Decimal, so that sums are exact; got {type(value).__name__}")
    if not value.is_finite():
        raise ValueError(f"{name} must be finite; got {value}")
    if int(value.as_tuple().exponent) < -_MAX_DIGITS:
        raise ValueError(f"{name} may have at most {_MAX_DIGITS} digits after the point")
    return value


def _check_epsilon(value: object) -> None:
    epsilon = _exact("epsilon", value)
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise ValueError(f"epsilon must be between {MIN_EPSILON} and {MAX_EPSILON}; got {epsilon}")


def _check_delta(value: object) -> None:
    delta = _exact("delta", value)
    if delta != 0 and not MIN_DELTA <= delta < 1:
        raise ValueError(f"delta must be 0 or between {MIN_DELTA} and 1; got {delta}")


def _check_mu2(value: object) -> None:
    if not isinstance(value, float) or not isfinite(value) or not MIN_MU2 <= value <= MAX_MU2:
        raise ValueError(f"mu2 must be a float between {MIN_MU2} and {MAX_MU2}; got {value!r}")


def _check_variance(value: object) -> None:
    if not isinstance(value, float) or not isfinite(value) or value < MIN_VARIANCE:
        raise ValueError(f"variance must be a finite float, at least {MIN_VARIANCE}; got {value!r}")


def _check_between(name: str, value: object, low: float, high: float) -> None:
    if not isinstance(value, float) or not low <= value <= high:
        raise ValueError(f"{name} must be a float between {low} and {high}; got {value!r}")


@dataclass(frozen=True, slots=True)
class Pure:
    """Any mechanism that is `epsilon`-DP, of which nothing else is known."""

    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """A vector of integers, each with noise of density proportional to exp(-|x|/b_j).

    One unit moves coordinate j by at most l1_j lattice steps and sum_j l1_j / b_j <= `epsilon`.
    """

    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True)
class Laplace:
    """A vector of reals with continuous Laplace noise of scales b_j; sum_j l1_j / b_j <= `epsilon`."""

    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True)
class Exponential:
    """A choice by the exponential mechanism: for each pair of neighbours the loss has range `epsilon`.

    Density proportional to exp(epsilon u / (2 D)) for a utility u that one unit moves by at most D. Gumbel
    noise and report-max is the same event; Laplace or exponential noise and report-max is `NoisyMax`.
    """

    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The index of the largest of several scores with Laplace or exponential noise of scale b each.

    `epsilon` = 2 D / b, where one unit moves each score by at most D (D / b if it moves all one way). The
    scores themselves are not shown. The loss is within `epsilon` but its range is not, so this is no
    `Exponential`.
    """

    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


@dataclass(frozen=True, slots=True)
class SubsampledPure:
    """An `epsilon`-DP mechanism on a sample that each unit, with all its rows, is in with `probability`.

    Units are sampled independently of each other and the sample is not shown.
    """

    probability: Decimal
    epsilon: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        if not 0 < _exact("probability", self.probability) <= 1:
            raise ValueError(f"probability must be above 0 and at most 1; got {self.probability}")
        if amplified(self.probability, self.epsilon) < MIN_EPSILON:
            raise ValueError(f"the amplified epsilon must be at least {MIN_EPSILON}")


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A vector of reals with continuous Gaussian noise (rounded afterwards or not).

    `mu2` = sum_j (D_j / sigma_j)^2, rounded up, where one unit moves coordinate j by at most D_j.
    """

    mu2: float

    def __post_init__(self) -> None:
        _check_mu2(self.mu2)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """A vector of integers, each with noise of density proportional to exp(-x^2 / (2 s_j^2)).

    `mu2` = sum_j (D_j / s_j)^2, rounded up, D_j integer; `variance` = the smallest s_j^2, in squared lattice
    steps, at least 4 (below that the price of a discrete Gaussian is not known to hold).
    """

    mu2: float
    variance: float

    def __post_init__(self) -> None:
        _check_mu2(self.mu2)
        _check_variance(self.variance)


@dataclass(frozen=True, slots=True)
class SubsampledGaussian:
    """`steps` noisy sums, each of a fresh sample that each unit is in with `probability`, as in DP-SGD.

    Per step N(0, sigma^2 I) is added to the sum of vectors of which one unit gives one, of length at most l2;
    `noise_multiplier` = sigma / l2, rounded down. Units are sampled independently of each other and of other
    steps (Poisson sampling, neither batches of fixed size nor a shuffle), and the samples are not shown.
    """

    probability: float
    noise_multiplier: float
    steps: int

    def __post_init__(self) -> None:
        _check_between("probability", self.probability, MIN_PROBABILITY, 1.0)
        _check_between("noise_multiplier", self.noise_multiplier, MIN_NOISE, MAX_NOISE)
        if type(self.steps) is not int or not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"steps must be an integer between 1 and {MAX_STEPS}; got {self.steps!r}")


@dataclass(frozen=True, slots=True)
class NonPrivate:
    """A release about which nothing is known: its loss is infinite, and every account refuses it."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Groups shown only above a noisy threshold; those of one unit only show with probability `delta`.

    The noise of the counts is an event of its own.
    """

    delta: Decimal

    def __post_init__(self) -> None:
        _check_delta(self.delta)


@dataclass(frozen=True, slots=True)
class Approximate:
    """A black box that is (`epsilon`, `delta`)-DP."""

    epsilon: Decimal
    delta: Decimal

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        _check_delta(self.delta)


Simple: TypeAlias = (
    Pure
    | DiscreteLaplace
    | Laplace
    | Exponential
    | NoisyMax
    | SubsampledPure
    | Gaussian
    | DiscreteGaussian
    | SubsampledGaussian
    | Threshold
    | Approximate
    | NonPrivate
)


@dataclass(frozen=True, slots=True)
class Composed:
    """Several events released as one step, in this order; nested ones are flattened."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise ValueError("a composed event needs at least one part")
        object.__setattr__(self, "events", tuple(part for event in self.events for part in parts(event)))


Event: TypeAlias = Simple | Composed


def parts(event: Event) -> tuple[Simple, ...]:
    """The simple events of one step, in order."""
    if isinstance(event, Composed):
        return tuple(part for inner in event.events for part in parts(inner))
    return (event,)


def to_dict(event: Event) -> dict[str, object]:
    """Canonical JSON-able form: decimals as strings, floats as hex, so that equal events are equal texts."""
    match event:
        case Pure() | DiscreteLaplace() | Laplace() | Exponential() | NoisyMax():
            return {"event": _NAMES[type(event)], "epsilon": decimal_text(event.epsilon)}
        case SubsampledPure():
            probability, epsilon = decimal_text(event.probability), decimal_text(event.epsilon)
            return {"event": "subsampled_pure", "probability": probability, "epsilon": epsilon}
        case Gaussian():
            return {"event": "gaussian", "mu2": event.mu2.hex()}
        case DiscreteGaussian():
            return {"event": "discrete_gaussian", "mu2": event.mu2.hex(), "variance": event.variance.hex()}
        case SubsampledGaussian(probability, noise, steps):
            numbers = {"probability": probability.hex(), "noise_multiplier": noise.hex(), "steps": steps}
            return {"event": "subsampled_gaussian", **numbers}
        case NonPrivate():
            return {"event": "non_private"}
        case Threshold():
            return {"event": "threshold", "delta": decimal_text(event.delta)}
        case Approximate():
            epsilon, delta = decimal_text(event.epsilon), decimal_text(event.delta)
            return {"event": "approximate", "epsilon": epsilon, "delta": delta}
        case Composed():
            return {"event": "composed", "events": [to_dict(part) for part in event.events]}
        case _:
            assert_never(event)


def from_dict(source: Mapping[str, object]) -> Event:
    """The event of a `to_dict` form.

    Raises:
        ValueError: the form is not one that `to_dict` writes, or its numbers are refused by the event.
    """
    fields = {name: value for name, value in source.items() if name != "event"}
    match source.get("event"), fields:
        case (
            "pure" | "discrete_laplace" | "laplace" | "exponential" | "noisy_max" as name,
            {"epsilon": epsilon, **rest},
        ):
            event: Event = _BY_NAME[name](read_decimal(epsilon))
        case "subsampled_pure", {"probability": share, "epsilon": epsilon, **rest}:
            event = SubsampledPure(read_decimal(share), read_decimal(epsilon))
        case "gaussian", {"mu2": mu2, **rest}:
            event = Gaussian(read_hex(mu2))
        case "discrete_gaussian", {"mu2": mu2, "variance": variance, **rest}:
            event = DiscreteGaussian(read_hex(mu2), read_hex(variance))
        case "subsampled_gaussian", {
            "probability": share,
            "noise_multiplier": noise,
            "steps": int(steps),
            **rest,
        }:
            event = SubsampledGaussian(read_hex(share), read_hex(noise), steps)
        case "non_private", {**rest}:
            event = NonPrivate()
        case "threshold", {"delta": delta, **rest}:
            event = Threshold(read_decimal(delta))
        case "approximate", {"epsilon": epsilon, "delta": delta, **rest}:
            event = Approximate(read_decimal(epsilon), read_decimal(delta))
        case "composed", {"events": inner, **rest}:
            event = _composed(inner)
        case other, _:
            raise ValueError(f"not a stored event: {other!r} with the fields {sorted(fields)}")
    if rest:
        raise ValueError(f"a stored event has the unknown fields {sorted(rest)}")
    return event


def _composed(inner: object) -> Composed:
    if not isinstance(inner, list):
        raise ValueError("a composed event has a list of events")
    found = []
    for part in inner:
        if not isinstance(part, Mapping) or part.get("event") == "composed":
            raise ValueError("a composed event has a flat list of events")
        found.append(from_dict(part))
    return Composed(tuple(found))


def decimal_text(value: Decimal) -> str:
    """The one text of a decimal number: no trailing zeros."""
    return str(value.normalize(EXACT))


def read_decimal(source: object) -> Decimal:
    """The decimal of a `decimal_text`; ValueError for anything else."""
    if not isinstance(source, str):
        raise ValueError("a decimal number is stored as a string")
    return _decimal(source)


@lru_cache(maxsize=1024)
def _decimal(source: str) -> Decimal:
    # Nearly all decimals that a replay reads are budgets and prices that it has read before.
    try:
        return Decimal(source)
    except ArithmeticError:
        raise ValueError("a stored decimal number does not parse") from None


def read_hex(source: object) -> float:
    """The float of a hex string; ValueError for anything else."""
    if not isinstance(source, str):
        raise ValueError("a float is stored as a hex string")
    try:
        return float.fromhex(source)
    except OverflowError:
        raise ValueError("a stored float is out of range") from None


_BY_NAME: Final[dict[str, type[Pure | DiscreteLaplace | Laplace | Exponential | NoisyMax]]] = {
    "pure": Pure,
    "discrete_laplace": DiscreteLaplace,
    "laplace": Laplace,
    "exponential": Exponential,
    "noisy_max": NoisyMax,
}
_NAMES: Final = {kind: name for name, kind in _BY_NAME.items()}
