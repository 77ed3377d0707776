"""Do editors and readers see the keys that the loader takes?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpsql.errors import PolicyError
from dpsql.policy import parse
from dpsql.policy.budget import Budget, PerQuery
from dpsql.policy.model import Policy
from dpsql.policy.part import Part
from dpsql.policy.schema import reference, schema
from dpsql.policy.table import ColumnPolicy, TablePolicy
from dpsql.policy.unit import PrivacyUnit

DOCUMENT = Path(__file__).parents[2] / "docs" / "policy.md"
PARTS: list[type[Part]] = [Policy, PrivacyUnit, Budget, PerQuery, TablePolicy, ColumnPolicy]


def test_the_schema_is_json_and_knows_every_key() -> None:
    text = json.dumps(schema())

    for part in PARTS:
        for key in part.model_fields:
            assert f'"{key}"' in text


def test_the_schema_refuses_unknown_keys_and_has_no_null() -> None:
    found = schema()

    objects: list[dict[str, Any]] = [found, *found["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in objects)
    assert found["properties"]["budget"]["$ref"] == "#/$defs/Budget"
    assert found["required"] == ["version", "id", "source", "privacy_unit", "tables"]


@pytest.mark.parametrize("part", PARTS)
def test_every_key_says_what_it_means(part: type[Part]) -> None:
    assert all(field.description for field in part.model_fields.values())


def test_the_reference_in_the_documents_is_the_one_of_the_model() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = "<!-- keys: generated from the model -->\n", "\n<!-- keys: end -->"

    written = text[text.index(begin) + len(begin) : text.index(end)].strip()

    assert written == reference()


def test_the_example_in_the_documents_is_a_policy_that_loads() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    policy = parse(text.split("```yaml\n")[1].split("```")[0], Path("shop.yaml"))

    assert [table.name for table in policy.private_tables] == ["customers", "orders"]


def test_the_fault_in_the_documents_is_the_one_that_is_shown() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    example = text.split("```yaml\n")[1].split("```")[0].replace("max_rows: 30 ", "max_row: 30 ")
    shown = text.split("```\nDP401")[1].split("```")[0]

    with pytest.raises(PolicyError) as caught:
        parse(example, Path("shop.yaml"))

    assert str(caught.value) == f"DP401{shown}".strip()
