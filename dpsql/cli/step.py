"""Which events does a step on the command line stand for?"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Final

from dpsql.cli import failure

if TYPE_CHECKING:
    from dpsql.accounting import Event
    from dpsql.errors import InterfaceError

KINDS: Final[dict[str, str]] = {
    "pure": "EPSILON",
    "laplace": "EPSILON",
    "discrete-laplace": "EPSILON",
    "exponential": "EPSILON",
    "noisy-max": "EPSILON",
    "box": "EPSILON,DELTA",
    "threshold": "DELTA",
    "gaussian": "NOISE",
    "discrete-gaussian": "NOISE,VARIANCE",
    "sampled-pure": "PROBABILITY,EPSILON",
    "sampled-gaussian": "PROBABILITY,NOISE,STEPS",
    "unknown": "",
}
"""Kind of step -> what follows its colon. NOISE is the noise's deviation over the L2 sensitivity."""

_STEP: Final = re.compile(r"(?:(\d{1,6})\*)?([a-z-]+)(?::(.*))?")
_PART: Final = re.compile(r"(?:(\d{1,6})\*)?([^*]+)")


def read_step(text: str) -> tuple[Event, int]:
    """The event of a step such as `100*pure:0.05`, and how often it was made.

    Raises:
        InterfaceError: DP903 when the text is no step, or its numbers are out of range.
    """
    match = _STEP.fullmatch(text)
    if match is None or match[2] not in KINDS or int(match[1] or 1) < 1:
        raise _no_step(text)
    numbers = match[3].split(",") if match[3] else []
    if len(numbers) != len([name for name in KINDS[match[2]].split(",") if name]):
        raise _no_step(text)
    try:
        return _event(match[2], numbers), int(match[1] or 1)
    except (ArithmeticError, ValueError) as error:
        detail = str(error) if isinstance(error, ValueError) else "not a number"
        raise failure.usage(f"The step {text!r} is out of range: {detail}.") from None


def read_part(text: str) -> list[tuple[float, float]]:
    """The losses of a part such as `5*0.1,1e-6`, one (epsilon, delta) for each time it counts.

    Raises:
        InterfaceError: DP903 when the text is none.
    """
    match = _PART.fullmatch(text)
    try:
        epsilon, delta = (float(number) for number in match[2].split(",")) if match else (inf, inf)
    except ValueError:
        epsilon = delta = inf
    if match is None or not (0.0 < epsilon < inf and 0.0 <= delta < 1.0):
        raise failure.usage(
            f"{text!r} is no part.", "A part is EPSILON,DELTA, such as 0.1,1e-6; five: 5*0.1,1e-6."
        )
    return [(epsilon, delta)] * int(match[1] or 1)


def _no_step(text: str) -> InterfaceError:
    forms = "; ".join(f"{kind}:{numbers}" if numbers else kind for kind, numbers in KINDS.items())
    return failure.usage(f"{text!r} is no step.", f"A step is one of {forms}; a hundred: 100*pure:0.05.")


def _event(kind: str, numbers: list[str]) -> Event:
    from dpsql import accounting

    match kind, numbers:
        case "box", [epsilon, delta]:
            return accounting.Approximate(Decimal(epsilon), Decimal(delta))
        case "threshold", [delta]:
            return accounting.Threshold(Decimal(delta))
        case "gaussian", [noise]:
            return accounting.Gaussian(_mu2(noise))
        case "discrete-gaussian", [noise, variance]:
            return accounting.DiscreteGaussian(_mu2(noise), float(variance))
        case "sampled-pure", [probability, epsilon]:
            return accounting.SubsampledPure(Decimal(probability), Decimal(epsilon))
        case "sampled-gaussian", [probability, noise, steps]:
            return accounting.SubsampledGaussian(float(Fraction(probability)), float(noise), int(steps))
        case "unknown", []:
            return accounting.NonPrivate()
        case _, [epsilon]:
            return _pure(kind, Decimal(epsilon))
        case _:
            raise ValueError("too few or too many numbers")


def _pure(kind: str, epsilon: Decimal) -> Event:
    from dpsql import accounting

    match kind:
        case "laplace":
            return accounting.Laplace(epsilon)
        case "discrete-laplace":
            return accounting.DiscreteLaplace(epsilon)
        case "exponential":
            return accounting.Exponential(epsilon)
        case "noisy-max":
            return accounting.NoisyMax(epsilon)
        case _:
            return accounting.Pure(epsilon)


def _mu2(noise: str) -> float:
    """1/noise^2, rounded up."""
    exact = 1 / Fraction(noise) ** 2
    return nextafter(float(exact), inf)
