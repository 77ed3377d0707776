"""Property tests here compare with 60-digit arithmetic: how long one example takes says nothing."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
