"""Does the last bit of an answer tell the exact value?

Mironov 2012, "On significance of the least significant bits for differential privacy": a textbook Laplace
sampler in doubles reaches other numbers around 0 than around 1, so single answers give the value away.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpsql.mechanisms import Gaussian, Laplace, Mechanism, Sampler

DRAWS = 100_000
NEVER = 1e-20
NOISES = pytest.mark.parametrize("noise", [Laplace(Fraction(30720)), Gaussian(Fraction(30720))], ids=str)
NARROW = pytest.mark.parametrize("noise", [Laplace(Fraction(5, 2)), Gaussian(Fraction(5, 2))], ids=str)


@pytest.mark.statistical
@NOISES
def test_the_low_byte_is_the_same_law_whether_the_value_is_0_or_1(noise: Mechanism) -> None:
    zero = 0 + noise.draw(Sampler(), DRAWS)
    one = 1 + noise.draw(Sampler(), DRAWS)

    table = np.array([np.bincount(answers & 255, minlength=256) for answers in (zero, one)])

    assert stats.chi2_contingency(table).pvalue > NEVER


@pytest.mark.statistical
@NOISES
def test_the_lowest_bits_are_uniform_on_a_wide_law(noise: Mechanism) -> None:
    answers = noise.draw(Sampler(), DRAWS)

    for bits in (1, 2, 8):
        counts = np.bincount(answers & ((1 << bits) - 1), minlength=1 << bits)
        assert stats.chisquare(counts).pvalue > NEVER


@pytest.mark.statistical
@NARROW
def test_every_answer_around_0_can_also_come_from_1(noise: Mechanism) -> None:
    zero = set((0 + noise.draw(Sampler(), DRAWS)).tolist())
    one = set((1 + noise.draw(Sampler(), DRAWS)).tolist())

    likely = set(range(-5, 7))
    assert likely <= zero & one
    assert all(isinstance(answer, int) for answer in zero | one)


def test_the_attack_works_on_a_textbook_sampler_in_doubles() -> None:
    """So the tests above look at the right place: here most answers around 0 cannot come from 1."""
    generator = random.Random(3)

    def noise() -> float:
        return math.copysign(math.log(1 - generator.random()), generator.random() - 0.5)

    def reachable(answer: float, value: float) -> bool:
        """Is there a uniform u on the grid of doubles with value + sign * log(u) = answer?"""
        distance = answer - value
        nearest = round(math.exp(-abs(distance)) * 2**53)
        tries = [math.log((nearest + i) / 2**53) for i in range(-4, 5) if nearest + i > 0]
        return any(value + math.copysign(t, distance) == answer for t in tries)

    answers = [0.0 + noise() for _ in range(2000)]

    assert all(reachable(answer, 0.0) for answer in answers)
    assert sum(reachable(answer, 1.0) for answer in answers) < 0.9 * len(answers)
