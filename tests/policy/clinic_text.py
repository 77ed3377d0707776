"""The clinic's policy as a text to edit, and what is wrong with an edited one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpsql.errors import Fault, PolicyError
from dpsql.policy import Policy, parse

FILE = Path(__file__).parents[2] / "policies" / "clinic.yaml"
TEXT = FILE.read_text(encoding="utf-8")


def edited(*edits: tuple[str, str], text: str = TEXT) -> str:
    """The text with the first occurrence of each old piece replaced; an old piece must occur."""
    for old, new in edits:
        assert old in text, f"{old!r} is not in the policy"
        text = text.replace(old, new, 1)
    return text


def accepted(*edits: tuple[str, str]) -> Policy:
    return parse(edited(*edits), FILE)


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(PolicyError) as caught:
        parse(text, FILE)
    return caught.value.faults


def fault(*edits: tuple[str, str]) -> Fault:
    """The only fault of the edited policy."""
    found = faults(edited(*edits))
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]
