"""Is this still the same promise, and if not, what changed?"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any, Final

from dpsql.policy.declaration import Declaration
from dpsql.policy.domain import Range, Reference, Values
from dpsql.policy.part import Part
from dpsql.policy.unit import UnitPath

LEFT_OUT: Final = frozenset({"source", "ledger", "data_version"})
"""Keys that say where and which the data is, not what is promised about it."""


def canonical_text(policy: Declaration) -> str:
    """The policy as JSON: keys sorted, decimals as texts without needless zeros, ASCII only."""
    plain = {key: value for key, value in _plain(policy).items() if key not in LEFT_OUT}
    return json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def digest_of(canonical: str) -> str:
    """SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _plain(value: object) -> Any:
    match value:
        case Part():
            named = ((name, getattr(value, name)) for name in type(value).model_fields)
            return {name: _plain(part) for name, part in named if part is not None}
        case Values() | Range() | Reference() | UnitPath():
            return {field.name.rstrip("_"): _plain(getattr(value, field.name)) for field in fields(value)}
        case Decimal():
            return decimal_text(value)
        case datetime.date():
            return value.isoformat()
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def decimal_text(number: Decimal) -> str:
    """A decimal in its shortest plain notation: 2.0E-6 is 0.000002."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def differences(old: str, new: str) -> tuple[str, ...]:
    """What changed from one canonical text to another: `tables.visits.max_rows: 20 -> 30`, a line each."""
    return tuple(_changes("", json.loads(old), json.loads(new)))


def _changes(path: str, old: Any, new: Any) -> Iterator[str]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        if old != new:
            yield f"{path}: {_shown(old)} -> {_shown(new)}"
        return
    for key in sorted(old.keys() | new.keys()):
        at = f"{path}.{key}" if path else key
        if key not in old:
            yield f"{at}: added {_shown(new[key])}"
        elif key not in new:
            yield f"{at}: removed {_shown(old[key])}"
        else:
            yield from _changes(at, old[key], new[key])


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
