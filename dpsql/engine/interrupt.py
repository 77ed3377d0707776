"""What does a user's interrupt look like when it comes while the engine runs?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Give the engine's own word for an interrupt the name that Python has for it."""
    try:
        yield
    except RuntimeError as fault:
        if str(fault) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
