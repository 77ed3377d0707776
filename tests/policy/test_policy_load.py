"""Does a policy file load exactly as written, and is every fault shown where it stands?"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.errors import Fault, PolicyError
from dpsql.policy import (
    Budget,
    PerQuery,
    Policy,
    Range,
    Reference,
    UnitPath,
    UnitStep,
    Values,
    load,
    parse,
)
from tests.policy.clinic_text import FILE, TEXT, accepted, edited, fault, faults


def test_the_clinic_policy_loads_as_written() -> None:
    policy = load(FILE)

    assert policy.id == "clinic"
    assert policy.privacy_unit.table == "patients"
    assert policy.budget == Budget(epsilon=Decimal(20), delta=Decimal("2.0e-6"))
    assert policy.per_query == PerQuery(
        epsilon=Decimal("0.1"), delta=Decimal("1.0e-9"), max_epsilon=Decimal("1.0")
    )
    assert policy.analysts == {"alice": Budget(epsilon=Decimal(5), delta=Decimal("1e-6"))}
    assert list(policy.tables) == ["hospitals", "patients", "visits"]


def test_the_columns_of_the_clinic_have_their_bounds_and_domains() -> None:
    policy = load(FILE)
    patients, visits = policy.tables["patients"], policy.tables["visits"]

    assert patients.columns["cost"].bounds == (Decimal(0), Decimal(50000))
    assert patients.columns["cost"].step == Decimal("0.01")
    assert patients.columns["sex"].domain == Values(("F", "M", "X"))
    assert patients.columns["hospital"].domain == Reference("hospitals", "hospital")
    assert visits.columns["day"].domain == Range(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    assert (visits.max_rows, visits.max_groups, visits.min_group_units) == (20, {"department": 3}, 5)


@pytest.mark.parametrize("written", ["0.1", "0.10", ".1", "1e-1", "0.1000000000000000055511151231257827"])
def test_a_number_is_read_from_its_text_and_not_through_a_binary_float(written: str) -> None:
    policy = accepted(("epsilon: 0.1,", f"epsilon: {written},"))

    assert policy.per_query is not None
    assert policy.per_query.epsilon == Decimal(written)


def test_names_are_found_in_any_spelling_of_their_letters() -> None:
    policy = load(FILE)

    table = policy.table("VISITS")

    assert table is policy.tables["visits"]
    assert table.name == "visits"
    assert table.column("Charge") is table.columns["charge"]
    assert table.columns["charge"].name == "charge"
    assert policy.table("nurses") is None
    assert table.column("nurse") is None


def test_integer_and_date_bounds_are_a_public_domain_for_keys() -> None:
    policy = accepted(
        ("diagnosis: {type: text}", "born: {type: date, bounds: [1900-01-01, 2024-12-31]}"),
    )
    columns = policy.tables["patients"].columns

    assert columns["age"].key_domain == Range(0, 110)
    assert columns["born"].key_domain == Range(datetime.date(1900, 1, 1), datetime.date(2024, 12, 31))
    assert columns["cost"].key_domain is None
    assert columns["sex"].key_domain == Values(("F", "M", "X"))


def test_a_domain_lists_null_and_a_range_takes_a_null_group() -> None:
    policy = accepted(("[F, M, X]", "[F, M, null]"), ("to: 2024-12-31}", "to: 2024-12-31}, null_group: true"))

    assert policy.tables["patients"].columns["sex"].domain == Values(("F", "M", None))
    assert policy.tables["visits"].columns["day"].null_group


def test_the_unit_table_takes_the_key_of_the_privacy_unit() -> None:
    policy = load(FILE)

    assert policy.unit_of(policy.tables["patients"]) == "patient_id"
    assert policy.unit_of("visits") == "patient_id"
    assert policy.unit_path("patients") == ()
    with pytest.raises(ValueError, match="no private table 'hospitals'"):
        policy.unit_of("hospitals")


LABS = """  labs:
    unit: {column: visit, references: visits.visit_id}
    budget: {epsilon: 1, delta: 0}
    max_rows: 50
    columns: {visit: {type: integer}, result: {type: double, bounds: [0, 9]}}
"""


def test_a_unit_path_leads_to_the_table_that_holds_the_unit() -> None:
    policy = parse(TEXT + LABS, FILE)

    assert policy.unit_of("labs") == UnitPath("visit", "visits.visit_id")
    assert policy.unit_path("labs") == (UnitStep("labs", "visit", "visits", "visit_id"),)


def test_places_are_relative_to_the_policy_file(tmp_path: Path) -> None:
    policy = parse(TEXT, tmp_path / "rules" / "clinic.yaml")
    named = parse(edited(("id: clinic ", "ledger: books/my.db\nid: clinic ")), tmp_path / "clinic.yaml")

    assert policy.source_path == tmp_path / "sample_data" / "clinic.duckdb"
    assert policy.ledger_location() == str(tmp_path / "rules" / "clinic.ledger.db")
    assert named.ledger_location() == str(tmp_path / "books" / "my.db")


def test_without_a_declared_budget_the_unit_may_lose_the_sum_of_the_tables() -> None:
    policy = accepted(("budget: {epsilon: 20, delta: 2.0e-6}", "# "), ("epsilon: 10,", "epsilon: 0.3,"))

    assert policy.unit_budget() == Budget(epsilon=Decimal("10.3"), delta=Decimal("2e-6"))
    assert policy.notices[0] == (
        "No `budget` for the privacy unit: one patient may lose the sum of the tables,"
        " epsilon 10.3, delta 2e-6."
    )


def test_slack_is_kept_only_where_a_group_can_have_private_keys() -> None:
    private = load(FILE)
    public = accepted(
        ("diagnosis: {type: text}", "diagnosis: {type: text, domain: [flu, other]}"),
        ("visit_id: {type: integer}", "visit_id: {type: integer, bounds: [1, 99999]}"),
    )

    assert private.slack_share == Decimal("0.10")
    assert public.slack_share == 0
    assert not any("keeps 10%" in notice for notice in public.notices)


def test_columns_that_only_say_whose_a_row_is_need_no_slack() -> None:
    public = edited(("      diagnosis: {type: text} ", "#"))

    without_path = parse(public, FILE)
    with_path = parse(public + LABS, FILE)

    assert without_path.slack_share == Decimal("0.10")
    assert with_path.slack_share == 0


def test_the_owner_is_told_how_many_queries_with_private_keys_a_delta_admits() -> None:
    notices = load(FILE).notices

    assert [notice for notice in notices if "keeps 10%" in notice] == [
        "Each account keeps 10% of its delta for groups without a public domain. At delta 1e-9, the most"
        " queries with such groups, then none for ever: 200 from unit:patient, 100 from table:patients,"
        " 100 from table:visits, 100 from analyst:alice."
    ]


def test_every_fault_is_listed_in_one_pass_in_the_order_of_the_text() -> None:
    text = edited(
        ("budget: {epsilon: 20, delta: 2.0e-6}", "budget: {epsilon: 20}"),
        ("max_rows: 1 ", "max_row: 1 "),
        ("age: {type: integer,", "age: {type: integr,"),
        ("bounds: [0, 50000]", "bounds: [50000, 0]"),
        ("unit: patient_id", "unit: patint_id"),
        ("min_group_units: 5", "min_group_units:"),
    )

    found = faults(text)

    assert [(item.message.split(",")[0], item.suggestion) for item in found] == [
        ("`delta` is missing", None),
        ("unknown key `max_row`", "did you mean `max_rows`?"),
        ("`type` must be one of text", "did you mean `integer`?"),
        ("the lower bound 50000 is above the upper bound 0", None),
        ("table `visits` has no column `patint_id`", "did you mean `patient_id`?"),
        ("`min_group_units` has no value: give one", None),
    ]
    assert [item.line for item in found] == sorted(item.line for item in found)


def test_a_fault_shows_file_line_column_and_a_caret_under_the_value() -> None:
    text = edited(("age: {type: integer, bounds: [0, 110]}", "age: {type: integer, bounds: [0, x]}"))

    with pytest.raises(PolicyError) as caught:
        parse(text, Path("rules.yaml"))

    shown = str(caught.value).splitlines()
    line = text.splitlines().index("      age: {type: integer, bounds: [0, x]}") + 1
    assert shown[0] == "DP401 The policy rules.yaml has a fault:"
    assert shown[1] == f"rules.yaml:{line}:36: `bounds` must be a number, not the text 'x'"
    assert shown[2] == "          age: {type: integer, bounds: [0, x]}"
    assert shown[3].index("^") - 4 == shown[2].index("[0, x]") - 4


def test_a_fault_hides_no_other_and_brings_no_consequences() -> None:
    found = faults(edited(("patient_id: {type: integer}", "patient_id: {type: int}")))

    assert len(found) == 1


NO_TERMS = edited(
    (
        "    unit: patient_id\n    budget: {epsilon: 10, delta: 1.0e-6}\n    max_rows: 20 ",
        "    unit: patient_id\n    # ",
    )
)
"""The table of visits has neither a budget nor a limit on rows."""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("    columns:\n      visit_id", "    colums:\n      visit_id", "unknown key `colums`"),
        (
            "    columns:\n      visit_id",
            "    columns: {}\n    max_groups:\n      x",
            "`columns` must not be empty",
        ),
        (
            "    columns:\n      visit_id",
            "    columns: 7\n    max_groups:\n      x",
            "`columns` must be a mapping",
        ),
        ("privacy_unit: {name: patient,", "privacy_unit: {nam: patient,", "unknown key `nam`"),
        ("version: 1", "version: 2", "`version` must be 1, not 2"),
        ("  hospitals:\n", "  clinics: 3\n  hospitals:\n", "`clinics` must be a mapping"),
    ],
)
def test_a_fault_of_form_hides_no_missing_budget_or_limit_of_a_table(old: str, new: str, fault: str) -> None:
    messages = [found.message for found in faults(edited((old, new), text=NO_TERMS))]

    assert any(message.startswith(fault) for message in messages)
    assert any("`visits` needs `budget`" in message for message in messages)
    assert any("`visits` needs `max_rows`" in message for message in messages)


def test_a_policy_without_tables_still_has_its_prices_checked() -> None:
    text = edited(("epsilon: 0.1,", "epsilon: 2,"))

    messages = [found.message for found in faults(text[: text.index("tables:\n")])]

    assert messages == ["`tables` is missing", "the default epsilon 2 is above max_epsilon 1.0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a policy is a mapping"),
        ("- a\n- b\n", "a policy is a mapping"),
        ("!!set {a}\n", "a policy is a mapping"),
        ("a: [1\nb: 2\n", "not YAML"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: \x00\n", "not YAML"),
        ("a: " + "[" * 400, "not YAML"),
        ("[" * 1000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_yaml_mapping_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message) as caught:
        parse(text, FILE)

    assert caught.value.code is errors.POLICY_FILE
    assert caught.value.faults[0].line >= 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id: clinic ", "id: !secret clinic ", "the tag !secret is not supported"),
        ("[F, M, X]", "!!set {F, M}", "the tag tag:yaml.org,2002:set is not supported"),
        ("public: true", "public: !!bool yes", "write true or false, not yes"),
        ("id: clinic ", "id: clinic\nid: clinic ", "the key `id` appears twice"),
        ("max_rows: 20", "max_rows: 020", "write 020 as a decimal number"),
        ("max_rows: 20", "max_rows: 1_0", "write 1_0 as a decimal number"),
        ("max_rows: 20", "max_rows: '20'", "`max_rows` must be a whole number, not the text '20'"),
        ("max_rows: 20", "max_rows: 2.5", "`max_rows` must be a whole number, not 2.5"),
        ("max_rows: 20", "max_rows: true", "`max_rows` must be a whole number, not true"),
        ("public: true", "public: yes", "`public` must be true or false, not the text 'yes'"),
        ("from: 2024-01-01", "from: 2024-13-01", "2024-13-01 is no date"),
        ("from: 2024-01-01", "from: 2024-01-01 10:00:00", "a moment is not supported"),
        ("epsilon: 20", "epsilon: " + "1" * 70, "a number of more than 64 characters"),
        ("[F, M, X]", '["\\ud800"]', "half a surrogate pair"),
        ("[F, M, X]", "[" * 20 + "]" * 20, "nested too deeply"),
    ],
)
def test_a_value_that_yaml_lets_pass_in_two_readings_is_refused(old: str, new: str, message: str) -> None:
    assert message in fault((old, new)).message


def test_aliases_are_refused_so_that_a_text_cannot_grow() -> None:
    found = faults(
        edited(("[F, M, X]", "&sexes [F, M, X]"), ("{type: text} ", "{type: text, domain: *sexes} "))
    )

    assert "anchors and aliases are not supported" in found[0].message


def test_a_missing_file_and_a_folder_are_refused_with_the_way_out(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(PolicyError, match="cannot be read") as caught:
            load(path)
        assert caught.value.code is errors.POLICY_FILE
        assert caught.value.hint is not None
        assert "--policy" in caught.value.hint
        assert "docs/policy.md has one to copy" in caught.value.hint


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("id: clínic".encode("latin-1"))

    with pytest.raises(PolicyError, match="not a UTF-8 text"):
        load(path)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "clinic.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())

    assert load(path).digest == load(FILE).digest


def test_a_policy_made_from_a_mapping_keeps_the_same_rules() -> None:
    budget = {"epsilon": 1, "delta": Decimal("1e-6")}
    table = {"unit": "user", "budget": budget, "max_rows": 2, "columns": {"user": {"type": "text"}}}
    keys = {"version": 1, "id": "a/b", "source": "x.duckdb", "privacy_unit": {"name": "user"}}

    policy = Policy.model_validate({**keys, "tables": {"logins": table}})

    assert policy.ledger_location() == str(Path.cwd() / "a_b.ledger.db")
    with pytest.raises(ValueError, match="needs `max_rows`"):
        Policy.model_validate({**keys, "tables": {"logins": {**table, "max_rows": None}}})
    with pytest.raises(ValueError, match=r"binary float 0\.1"):
        Policy.model_validate({**keys, "budget": {**budget, "epsilon": 0.1}, "tables": {"logins": table}})


def loaded_or_faults(text: str) -> Policy | tuple[Fault, ...]:
    try:
        return parse(text, FILE)
    except PolicyError as error:
        return error.faults


MARKS = st.sampled_from("[{}:-'\"&*!?|>#%@`,\n\t\x00\u2028\x85")
WORDS = st.sampled_from(
    [
        "&a ",
        "*a",
        "!x ",
        "!!set ",
        "!!int ",
        "<<: ",
        "%YAML 1.1\n---\n",
        "[[[[",
        "null",
        "yes",
        "-1",
        "1e999",
        ".nan",
    ]
)
PLACES = st.integers(0, len(TEXT))
EDITS = st.tuples(PLACES, st.integers(0, 30), st.one_of(MARKS, WORDS, st.text(max_size=5)))


@settings(max_examples=300, deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=4))
def test_any_mutation_of_a_policy_loads_or_has_faults_with_places(edits: list[tuple[int, int, str]]) -> None:
    text = TEXT
    for place, length, piece in edits:
        text = text[:place] + piece + text[place + length :]

    outcome = loaded_or_faults(text)

    assert outcome
    if not isinstance(outcome, Policy):
        assert all(found.line >= 1 and found.column >= 1 and found.message for found in outcome)
