"""Does the digest change with the promise, and only with it?"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dpsql.policy import load, parse
from tests.policy.clinic_text import FILE, TEXT, accepted, edited


def test_the_digest_is_the_hash_of_the_canonical_text() -> None:
    policy = load(FILE)

    assert policy.digest == hashlib.sha256(policy.canonical().encode()).hexdigest()
    assert json.loads(policy.canonical())["budget"]["delta"] == "0.000002"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("delta: 2.0e-6", "delta: 0.00000200"),
        ("epsilon: 20,", "epsilon: 20.0,"),
        ("../sample_data/clinic.duckdb", "elsewhere.duckdb"),
        ("id: clinic ", "ledger: other.db\nid: clinic "),
        ("data_version: 1", "data_version: 2"),
        ("{type: text, unique: true}", "{unique: true, type: text}"),
        ("# The policy", "# A policy"),
    ],
)
def test_layout_and_places_do_not_change_the_digest(old: str, new: str) -> None:
    assert accepted((old, new)).digest == load(FILE).digest


def test_the_digest_does_not_depend_on_where_the_file_is() -> None:
    assert parse(TEXT, Path("/elsewhere/p.yaml")).digest == load(FILE).digest


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("max_rows: 20", "max_rows: 30", "tables.visits.max_rows: 20 -> 30"),
        ("epsilon: 20,", "epsilon: 21,", "budget.epsilon: 20 -> 21"),
        ("max_epsilon: 1.0", "max_epsilon: 1.5", "per_query.max_epsilon: 1 -> 1.5"),
        ("step: 0.01", "step: 0.1", "tables.patients.columns.cost.step: 0.01 -> 0.1"),
        (
            "bounds: [0, 110]",
            "bounds: [0, 120]",
            'tables.patients.columns.age.bounds: ["0", "110"] -> ["0", "120"]',
        ),
        ("to: 2024-12-31", "to: 2025-12-31", "tables.visits.columns.day.domain.to: 2024-12-31 -> 2025-12-31"),
        ("name: patient,", "name: person,", "privacy_unit.name: patient -> person"),
        (
            "alice:",
            "bob:",
            'analysts.alice: removed {"delta": "0.000001", "epsilon": "5", "filter": "portfolio"}',
        ),
        (
            "constant: true}   #",
            "constant: false}  #",
            "tables.patients.columns.hospital.constant: true -> false",
        ),
    ],
)
def test_a_changed_promise_changes_the_digest_and_is_named(old: str, new: str, change: str) -> None:
    before, after = load(FILE), accepted((old, new))

    assert after.digest != before.digest
    assert change in after.difference(before.canonical())


def test_a_text_and_a_number_in_a_domain_are_told_apart() -> None:
    text = accepted(("[F, M, X]", "['1', '2']"))
    number = parse(
        edited(("sex: {type: text, domain: [F, M, X]", "sex: {type: integer, domain: [1, 2]")), FILE
    )

    assert "tables.patients.columns.sex.domain.values" in number.difference(text.canonical())[0]


def test_a_policy_does_not_differ_from_itself() -> None:
    policy = load(FILE)

    assert policy.difference(policy.canonical()) == ()
