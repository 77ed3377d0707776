"""How long do exact draws take, beside numpy's inexact ones?"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpsql.mechanisms import Gaussian, Laplace, Mechanism, Sampler

MILLION = 1_000_000
FEW = 24
SCALES = [Fraction(1), Fraction(100), Fraction(10**4), Fraction(10**6)]


def seconds(work: Callable[[], object], *, repeats: int) -> float:
    """Shortest time of `repeats` runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def baseline(mechanism: Mechanism) -> float:
    """Seconds numpy takes for a million draws in doubles, which are not private (see tests/attacks)."""
    generator = np.random.default_rng()
    match mechanism:
        case Laplace(scale=scale):
            return seconds(lambda: generator.laplace(0.0, float(scale), MILLION), repeats=3)
        case Gaussian(sigma=sigma):
            return seconds(lambda: generator.normal(0.0, float(sigma), MILLION), repeats=3)


def new_scale(law: type[Laplace] | type[Gaussian], scale: Fraction) -> float:
    """Milliseconds of a first small draw at a scale that was never drawn at."""
    sampler = Sampler()
    fresh = iter(range(1, 100))
    return 1e3 * seconds(
        lambda: law(scale + Fraction(next(fresh), 1009)).draw(sampler, FEW),
        repeats=9,
    )


def row(law: type[Laplace] | type[Gaussian], scale: Fraction) -> str:
    mechanism = law(scale)
    sampler = Sampler()
    million = seconds(lambda: mechanism.draw(sampler, MILLION), repeats=3)
    few = 1e3 * seconds(lambda: mechanism.draw(sampler, FEW), repeats=200)
    ratio = million / baseline(mechanism)
    name = f"{law.__name__} {int(scale):>8}"
    return f"{name:<18}{million:>8.3f} s{ratio:>8.1f} x{few:>10.3f} ms{new_scale(law, scale):>10.2f} ms"


def main() -> None:
    print(f"{'law, scale':<18}{'a million':>10}{'to numpy':>10}{'24 draws':>13}{'new scale':>13}")
    for law in (Laplace, Gaussian):
        for scale in SCALES:
            print(row(law, scale))


if __name__ == "__main__":
    main()
