"""Does the sampler decide as exact arithmetic would, and take its entropy as it should?"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql import errors
from dpsql.mechanisms import NoiseSource, Sampler, SilentSampler, odds

Draw = Callable[[NoiseSource, Fraction, int], NDArray[np.int64]]


def laplace(source: NoiseSource, scale: Fraction, size: int) -> NDArray[np.int64]:
    return source.discrete_laplace(scale, size)


def gaussian(source: NoiseSource, scale: Fraction, size: int) -> NDArray[np.int64]:
    return source.discrete_gaussian(scale, size)


LAWS = pytest.mark.parametrize("draw", [laplace, gaussian])


class ScriptedEntropy:
    """Hands out given 256-bit numbers, one for each flip, byte by byte and only while a flip is undecided."""

    def __init__(self, table: odds.Table, numbers: NDArray[np.uint8]) -> None:
        self._bars = np.repeat(table, numbers.shape[1], axis=0)
        self._numbers = numbers.reshape(-1, odds.PLACES)
        self._open = np.arange(len(self._numbers))
        self.place = 0

    def __call__(self, count: int) -> bytes:
        assert count == len(self._open)
        given: NDArray[np.uint8] = self._numbers[self._open, self.place]
        self._open = self._open[given == self._bars[self._open, self.place]]
        self.place += 1
        return given.tobytes()


def tied_numbers(table: odds.Table, size: int, *, seed: int) -> NDArray[np.uint8]:
    """Random 256-bit numbers that share 0 to 32 leading bytes with their row of the table."""
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, 256, (len(table), size, odds.PLACES), dtype=np.uint8)
    shared = generator.integers(0, odds.PLACES + 1, (len(table), size, 1))
    return np.where(np.arange(odds.PLACES) < shared, table[:, None, :], numbers).astype(np.uint8)


def value(digits: list[bool]) -> int:
    *magnitude, nonzero, negative = digits
    distance = 1 + sum(1 << i for i, digit in enumerate(magnitude) if digit)
    return (-distance if negative else distance) if nonzero else 0


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(30720)], ids=str)
def test_ties_on_any_byte_are_decided_as_256_bit_integers_are(scale: Fraction) -> None:
    table = odds.laplace(scale)
    size = 400
    numbers = tied_numbers(table, size, seed=7)
    bars = [int.from_bytes(row.tobytes(), "big") for row in table]
    wanted = [
        value([int.from_bytes(numbers[i, j].tobytes(), "big") < bar for i, bar in enumerate(bars)])
        for j in range(size)
    ]
    entropy = ScriptedEntropy(table, numbers)

    drawn = Sampler(entropy).discrete_laplace(scale, size)

    assert drawn.tolist() == wanted
    assert entropy.place == odds.PLACES


@LAWS
def test_the_same_entropy_gives_the_same_draws_and_another_gives_others(draw: Draw) -> None:
    first = draw(Sampler(random.Random(1).randbytes), Fraction(1000), 50)
    again = draw(Sampler(random.Random(1).randbytes), Fraction(1000), 50)
    other = draw(Sampler(random.Random(2).randbytes), Fraction(1000), 50)

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@LAWS
def test_draws_are_signed_64_bit_integers_of_the_asked_number(draw: Draw) -> None:
    for size in (0, 1, 24, (1 << 14) + 1):
        drawn = draw(Sampler(), Fraction(7, 2), size)

        assert drawn.dtype == np.int64
        assert drawn.shape == (size,)


@LAWS
@pytest.mark.parametrize("scale", [Fraction(1 << 26), Fraction((1 << 26) * 10**9 - 1, 10**9)], ids=str)
def test_the_largest_deviation_does_not_overflow(draw: Draw, scale: Fraction) -> None:
    drawn = draw(Sampler(), scale, 10_000)

    spread = float(np.abs(drawn).mean()) / float(scale)
    assert 0.7 < spread < 1.1


class FarProposal:
    """Proposes one far value to a draw of one Gaussian, fails all digits of its exponent, then is random."""

    def __init__(self, rows: int, far: int) -> None:
        self._size = 17 * rows
        digits = [far - 1 >> i & 1 for i in range(rows - 2)] + [1, 0]
        self._first = bytes(0 if digit else 255 for digit in digits for _ in range(17))
        self._rounds = 0

    def __call__(self, count: int) -> bytes:
        if count == self._size:
            self._rounds += 1
        if self._rounds > 1:
            return os.urandom(count)
        return self._first if count == self._size else bytes(count)


def test_a_proposal_whose_exponent_exceeds_the_table_is_rejected() -> None:
    """Its exponent 2^62 has no 1 among the 61 digits that have odds: without a bound it would always pass."""
    sigma = Fraction(1 << 26)
    far = (1 << 31) + (1 << 26)
    rows = len(odds.laplace(sigma))

    drawn = Sampler(FarProposal(rows, far)).discrete_gaussian(sigma, 1)

    assert abs(int(drawn[0])) < far


@LAWS
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 1 << 40)], ids=str)
def test_a_tiny_scale_draws_zeros(draw: Draw, scale: Fraction) -> None:
    assert not draw(Sampler(), scale, 1000).any()


def test_the_widest_laplace_keeps_its_scale() -> None:
    drawn = Sampler().discrete_laplace(Fraction(1 << 40), 10_000)

    assert 0.9 < float(np.abs(drawn).mean()) / (1 << 40) < 1.1


@LAWS
@pytest.mark.parametrize("source", [Sampler(), SilentSampler()])
@pytest.mark.parametrize(
    "scale", [Fraction(0), Fraction(-1), Fraction(1, 1 << 41), Fraction((1 << 40) + 1)], ids=str
)
def test_a_scale_out_of_range_is_refused(draw: Draw, source: NoiseSource, scale: Fraction) -> None:
    with pytest.raises(errors.UnsupportedQuery) as caught:
        draw(source, scale, 1)

    assert caught.value.code is errors.UNSAFE_NUMBER


def test_a_deviation_above_two_to_the_26_is_refused() -> None:
    with pytest.raises(errors.UnsupportedQuery):
        Sampler().discrete_gaussian(Fraction((1 << 26) + 1), 1)


@LAWS
def test_a_short_supply_of_entropy_is_no_noise_at_all(draw: Draw) -> None:
    with pytest.raises(ValueError, match="reshape"):
        draw(Sampler(lambda count: os.urandom(count - 1)), Fraction(10), 24)


@LAWS
def test_the_silent_sampler_adds_nothing(draw: Draw) -> None:
    assert draw(SilentSampler(), Fraction(10), 3).tolist() == [0, 0, 0]


def test_a_forked_process_draws_other_noise_than_its_parent() -> None:
    program = """
import os
from fractions import Fraction
from dpsql.mechanisms import Sampler
sampler = Sampler()
sampler.discrete_gaussian(Fraction(1000000), 4)
child = os.fork()
print(sampler.discrete_gaussian(Fraction(1000000), 4).tolist(), flush=True)
if child:
    os.waitpid(child, 0)
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    first, second = done.stdout.splitlines()
    assert first != second
