"""How is a broken rule reported, before it has a line and a column?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the file to a value."""

MAX_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class Mark:
    """Where something starts in the text; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that the value at `path` breaks.

    `about` holds what the rule looked at, if not `path` alone: where one of these is at fault too, the breach
    may be a mere consequence and is not reported. `at_key` points at the key instead of its value, `mark` at
    another place of the text.
    """

    path: Path
    message: str
    suggestion: str | None = None
    about: tuple[Path, ...] | None = None
    at_key: bool = False
    mark: Mark | None = None


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None if none is close."""
    folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold()[:MAX_NAME], folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A suggestion of the known name closest to `name`, or None."""
    close = closest(name, known)
    return None if close is None else f"did you mean `{close}`?"


def name_breaches(path: Path, names: Iterable[str], *, dots: bool) -> Iterable[Breach]:
    """Names below `path` that SQL cannot write or tell apart; `dots` admits dots in them."""
    seen: dict[str, str] = {}
    for name in names:
        fault = name_fault(name, dots=dots)
        if fault is not None:
            yield Breach((*path, name), fault, about=(), at_key=True)
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            message = f"`{name}` and `{first}` differ only in upper and lower case, which SQL does not see"
            yield Breach((*path, name), message, about=(), at_key=True)


def name_fault(name: str, *, dots: bool) -> str | None:
    """What is wrong with a name, or None."""
    if not name.strip():
        return "the name is empty"
    if len(name) > MAX_NAME:
        return f"the name is longer than {MAX_NAME} characters"
    if name != name.strip() or not name.isprintable():
        return "the name starts or ends with a space, or holds a character that cannot be printed"
    if "." in name and not dots:
        return "a name cannot hold a dot, which separates table and column"
    if name.startswith("#"):
        return "names that start with # are kept for dpsql's own columns"
    return None
