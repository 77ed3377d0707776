"""Which keys does a policy have, for editors and for readers?"""

from __future__ import annotations

from typing import Any, Final

from pydantic.fields import FieldInfo

from dpsql.policy.budget import Budget, PerQuery
from dpsql.policy.model import Policy
from dpsql.policy.part import Part
from dpsql.policy.table import ColumnPolicy, TablePolicy
from dpsql.policy.unit import PrivacyUnit

_SECTIONS: Final[tuple[tuple[str, type[Part]], ...]] = (
    ("Policy", Policy),
    ("privacy_unit", PrivacyUnit),
    ("budget, analysts.<name>, tables.<name>.budget", Budget),
    ("per_query", PerQuery),
    ("tables.<name>", TablePolicy),
    ("tables.<name>.columns.<name>", ColumnPolicy),
)


def schema() -> dict[str, Any]:
    """The JSON schema of a policy file, which editors complete and check keys with."""
    generated = Policy.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_readable(generated),
        "title": "dpsql policy",
    }


def _readable(value: Any) -> Any:
    """The schema without generated titles, and without null: a key of the file is written or left out."""
    match value:
        case {"anyOf": [dict() as only, {"type": "null"}], **rest}:
            kept = {key: part for key, part in rest.items() if key != "default"}
            return _readable({**only, **kept})
        case dict():
            return {key: _readable(part) for key, part in value.items() if not _is_title(key, part)}
        case list():
            return [_readable(part) for part in value]
        case _:
            return value


def _is_title(key: str, part: Any) -> bool:
    return key == "title" and isinstance(part, str)


def reference() -> str:
    """Every key with its default and meaning, as the Markdown tables of docs/policy.md."""
    return "\n\n".join(f"### `{title}`\n\n{_table(part)}" for title, part in _SECTIONS)


def _table(part: type[Part]) -> str:
    rows = (
        f"| `{key}` | {_default(field)} | {field.description} |" for key, field in part.model_fields.items()
    )
    return "\n".join(("| Key | Default | Meaning |", "|---|---|---|", *rows))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    match value:
        case None | {}:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"
