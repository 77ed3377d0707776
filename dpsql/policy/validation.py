"""What breaks the rules in a document, found in one pass?"""

from __future__ import annotations

import copy
import itertools
import pathlib
import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dpsql.policy.breach import Breach, Path, closest, did_you_mean
from dpsql.policy.budget import Budget, PerQuery
from dpsql.policy.document import Document
from dpsql.policy.lint import Unsound
from dpsql.policy.model import FILE, Policy
from dpsql.policy.number import describe
from dpsql.policy.part import Part
from dpsql.policy.table import ColumnPolicy, TablePolicy
from dpsql.policy.unit import PrivacyUnit

_ROUNDS: Final = 12
"""Enough to take faulty values out of every level of a policy, each of which may then lack something."""

_COLUMNS: Final[dict[str, Any]] = {"column": {"type": "integer"}}
_PLACEHOLDERS: Final[dict[str, Any]] = {
    "version": 1,
    "id": "policy",
    "source": "data",
    "privacy_unit": {"name": "unit"},
    "tables": {"table": {"public": True, "columns": _COLUMNS}},
}
"""Stand in for required keys that are at fault, so that the rest can still be checked."""


def check(document: Document, file: pathlib.Path) -> tuple[Policy | None, tuple[Breach, ...]]:
    """The policy of a document, or None and everything that is wrong with it.

    Values at fault are taken out and the rest is checked again, so that one fault hides no other; what is
    then missing only because it was taken out is not reported.
    """
    data = copy.deepcopy(document.data)
    found = list(document.breaches)
    faulty = {breach.path for breach in found if breach.mark is None}
    for path in faulty:
        _take_out(data, path)
    for _ in range(_ROUNDS):
        try:
            policy = Policy.model_validate(data, context={FILE: file})
        except ValidationError as error:
            details = error.errors(include_url=False)
            unsound = _unsound(details)
            faulty |= _suggested(details)
            found += _independent(unsound or map(_breach, details), faulty)
            places = {_place(detail) for detail in details}
            faulty |= places
            if unsound:
                break
            for place in places:
                _take_out(data, place)
        else:
            return (None, tuple(found)) if found else (policy, ())
    return None, tuple(found)


def _unsound(details: list[ErrorDetails]) -> tuple[Breach, ...]:
    causes = (detail.get("ctx", {}).get("error") for detail in details)
    return tuple(breach for cause in causes if isinstance(cause, Unsound) for breach in cause.breaches)


def _independent(breaches: Iterable[Breach], faulty: set[Path]) -> list[Breach]:
    return [breach for breach in breaches if not any(_is_about(breach, fault) for fault in faulty)]


def _is_about(breach: Breach, fault: Path) -> bool:
    places = (breach.path,) if breach.about is None else breach.about
    return any(_overlap(_folded(place), _folded(fault)) for place in places)


def _overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _folded(path: Path) -> Path:
    return tuple(step.casefold() if isinstance(step, str) else step for step in path)


def _place(detail: ErrorDetails) -> Path:
    """What to take out of the data: the value at fault, or what lacks a key."""
    path = detail["loc"]
    return path[:-1] if detail["type"] == "missing" and _placeholder(path) is None else path


def _placeholder(path: Path) -> Any:
    """What stands in for a required key, or None: without its columns a table still has a budget to check."""
    match path:
        case (str() as key,):
            return copy.deepcopy(_PLACEHOLDERS.get(key))
        case ("tables", _, "columns"):
            return copy.deepcopy(_COLUMNS)
        case _:
            return None


def _take_out(data: dict[str, Any], path: Path) -> None:
    """Remove the value at `path`, or the list that it is in."""
    steps = tuple(itertools.takewhile(lambda step: isinstance(step, str), path))
    holder: Any = data
    for step in steps[:-1]:
        holder = holder.get(step) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or not steps:
        return
    holder.pop(steps[-1], None)
    placeholder = _placeholder(steps)
    if placeholder is not None:
        holder[steps[-1]] = placeholder


def _suggested(details: list[ErrorDetails]) -> set[Path]:
    """Keys that misspelt ones stand for: that they are missing is no fault of its own."""
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    return {(*path[:-1], key) for path in unknown if (key := _closest(path)) is not None}


def _closest(path: Path) -> str | None:
    part = part_at(path[:-1])
    return None if part is None else closest(str(path[-1]), part.model_fields)


def part_at(path: Path) -> type[Part] | None:
    """The part of a policy whose keys stand at `path`."""
    match path:
        case ():
            return Policy
        case ("privacy_unit",):
            return PrivacyUnit
        case ("per_query",):
            return PerQuery
        case ("budget",) | ("analysts", _) | ("tables", _, "budget"):
            return Budget
        case ("tables", _):
            return TablePolicy
        case ("tables", _, "columns", _):
            return ColumnPolicy
        case _:
            return None


def _breach(detail: ErrorDetails) -> Breach:
    path = detail["loc"]
    key = path[-1] if path else "policy"
    match detail["type"]:
        case "missing":
            return Breach(path[:-1], f"`{key}` is missing", about=(path,))
        case "extra_forbidden":
            return _unknown_key(path)
        case "literal_error":
            return _not_listed(path, detail)
        case _:
            text = _message(detail)
            return Breach(path, f"`{key}` {text}" if text.startswith("must") else text)


def _unknown_key(path: Path) -> Breach:
    close = _closest(path)
    hint = None if close is None else f"did you mean `{close}`?"
    return Breach(path, f"unknown key `{path[-1]}`", hint, at_key=True)


def _not_listed(path: Path, detail: ErrorDetails) -> Breach:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    names = re.findall(r"'([^']*)'", expected)
    choices = ", ".join(names) or expected
    value = detail["input"]
    hint = did_you_mean(value, names) if isinstance(value, str) else None
    one_of = "one of " if len(names) > 1 else ""
    return Breach(path, f"`{path[-1]}` must be {one_of}{choices}, not {describe(value)}", hint)


def _message(detail: ErrorDetails) -> str:
    value = describe(detail["input"])
    match detail["type"]:
        case "value_error":
            return str(detail["ctx"]["error"])
        case "string_type":
            return f"must be a text, not {value}"
        case "string_too_short" | "too_short":
            return "must not be empty"
        case "bool_type":
            return f"must be true or false, not {value}"
        case "model_type" | "dict_type":
            return f"must be a mapping of keys to values, not {value}"
        case _:
            return detail["msg"]
