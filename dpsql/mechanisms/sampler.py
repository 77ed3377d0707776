"""How is exact discrete noise drawn from the operating system's entropy?"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsql import errors
from dpsql.mechanisms import odds

LARGEST_SCALE: Final = Fraction(1 << 40)
LARGEST_SIGMA: Final = Fraction(1 << 26)
SMALLEST: Final = Fraction(1, 1 << 40)

# Draws decided together: their bytes stay in the processor's cache.
_CHUNK: Final = 1 << 14


class NoiseSource(Protocol):
    """Where a mechanism gets its integers from."""

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Draw `size` integers x with P(x) ~ exp(-|x| / scale)."""

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """Draw `size` integers x with P(x) ~ exp(-x² / (2 sigma²))."""


class Sampler:
    """Exact noise: independent Bernoulli digits, each decided by comparing random bytes with 256-bit odds.

    No floating-point number takes part. The total-variation distance to the exact law is below 2^-250 for a
    discrete Laplace draw and below 2^-247 for a discrete Gaussian one (docs/proofs/samplers.md); it adds up
    over draws. Entropy is asked for anew by each call and never kept, so a forked process repeats nothing.

    Args:
        entropy: gives n random bytes. The operating system's, except in tests.
    """

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Draw `size` integers x with P(x) ~ exp(-|x| / scale).

        Raises:
            UnsupportedQuery: the scale is outside [2^-40, 2^40].
        """
        require_scale(scale, LARGEST_SCALE)
        return self._laplace(scale, size)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """Draw `size` integers x with P(x) ~ exp(-x² / (2 sigma²)).

        A discrete Laplace draw of scale 2 sigma² / k is kept with probability exp(-a / (2 sigma²)), where
        a = (|x| - floor(k/2)) (|x| - ceil(k/2)), an integer >= 0: k |x| + a is x² plus a constant.

        Raises:
            UnsupportedQuery: sigma is outside [2^-40, 2^26].

        Source: Canonne, Kamath, Steinke 2020 (rejection from a discrete Laplace law); the integer k, which
        keeps a an integer for every rational sigma, is derived in docs/proofs/samplers.md.
        """
        require_scale(sigma, LARGEST_SIGMA)
        twice_variance = 2 * sigma * sigma
        k = max(1, round(2 * sigma))
        low, high = k // 2, (k + 1) // 2
        # From `far` on the exponent is at least 200; stopping there keeps it below 2^63.
        far = k + ceil(20 * sigma)
        table = odds.failure(twice_variance, (far - low) * (far - high))
        kept = np.empty(0, dtype=np.int64)
        while len(kept) < size:
            draws = self._laplace(twice_variance / k, 16 + (size - len(kept)) * 11 // 8)
            folded = np.minimum(np.abs(draws), far)
            a = (folded - low) * (folded - high)
            failures = self._digits(table, len(draws))
            kept = np.concatenate([kept, draws[failures & a == 0]])
        return kept[:size]

    def _laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        table = odds.laplace(scale)
        word = self._digits(table, size)
        nonzero, sign = len(table) - 2, len(table) - 1
        magnitude = (word & ((1 << nonzero) - 1)) + 1
        signed: NDArray[np.int64] = magnitude * (word >> nonzero & 1) * (1 - 2 * (word >> sign & 1))
        return signed

    def _digits(self, table: odds.Table, size: int) -> NDArray[np.int64]:
        """Draw `size` words; digit i of each is 1 with probability table[i] / 2^256, all independent."""
        words = np.zeros((size, 8), dtype=np.uint8)
        for start in range(0, size, _CHUNK):
            chunk = words[start : start + _CHUNK]
            packed = np.packbits(self._flips(table, len(chunk)), axis=0, bitorder="little")
            chunk[:, : len(packed)] = packed.T
        return words.view("<i8").reshape(size).astype(np.int64, copy=False)

    def _flips(self, table: odds.Table, size: int) -> NDArray[np.bool_]:
        """Decide `size` flips for each row of odds: is a random 256-bit number below the row's?

        Bytes are drawn from the highest down, and lower ones only for those that are equal so far.
        """
        drawn = self._bytes(len(table) * size).reshape(len(table), size)
        below = drawn < table[:, :1]
        tied = np.flatnonzero(drawn == table[:, :1])
        for place in range(1, odds.PLACES):
            if not len(tied):
                break
            bar = table[tied // size, place]
            byte = self._bytes(len(tied))
            below.flat[tied] = byte < bar
            tied = tied[byte == bar]
        return below

    def _bytes(self, count: int) -> NDArray[np.uint8]:
        return np.frombuffer(self._entropy(count), dtype=np.uint8)


class SilentSampler:
    """No noise at all. For tests of what surrounds it only; protects nobody."""

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """`size` zeros; refuses the scales that `Sampler` refuses."""
        require_scale(scale, LARGEST_SCALE)
        return np.zeros(size, dtype=np.int64)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """`size` zeros; refuses the deviations that `Sampler` refuses."""
        require_scale(sigma, LARGEST_SIGMA)
        return np.zeros(size, dtype=np.int64)


def require_scale(scale: Fraction, largest: Fraction) -> None:
    """Refuse a noise scale that the samplers do not cover (UnsupportedQuery)."""
    if SMALLEST <= scale <= largest:
        return
    raise errors.UnsupportedQuery(
        errors.UNSAFE_NUMBER,
        f"A noise scale of {float(scale):.6g} lattice steps is not from 2^-40 to {float(largest):.6g}.",
        hint="Ask for another epsilon or error.",
    )
