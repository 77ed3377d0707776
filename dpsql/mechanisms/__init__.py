"""How is noise made?"""

from __future__ import annotations

from typing import TypeAlias

from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.sampler import NoiseSource, Sampler, SilentSampler
from dpsql.mechanisms.threshold import tau

Mechanism: TypeAlias = Laplace | Gaussian

__all__ = ["Gaussian", "Laplace", "Mechanism", "NoiseSource", "Sampler", "SilentSampler", "tau"]
