"""Is every rule between the keys of a policy kept?"""

from __future__ import annotations

import pytest

from dpsql.policy import parse
from tests.policy.clinic_text import FILE, TEXT, accepted, edited, fault, faults

VISITS_UNIT = "    unit: patient_id\n"
PATIENTS_BUDGET = "    budget: {epsilon: 10, delta: 1.0e-6}\n    max_rows: 1 "
VISITS_CHARGE = "charge: {type: double, bounds: [0, 5000], step: 0.01}"
AGE = "age: {type: integer, bounds: [0, 110]}"
COST = "cost: {type: double, bounds: [0, 50000], step: 0.01}"
UNIT = "privacy_unit: {name: patient, table: patients, key: patient_id}"

RULES = [
    # Tables: nothing that sets privacy has a silent default.
    (PATIENTS_BUDGET, "    max_rows: 1 ", "the private table `patients` needs `budget`"),
    ("    max_rows: 20 ", "    # ", "the private table `visits` needs `max_rows`"),
    (VISITS_UNIT, "", "the private table `visits` needs `unit`"),
    ("max_rows: 20", "max_rows: 0", "`max_rows` must be at least 1"),
    ("{department: 3}", "{ward: 3}", "table `visits` has no column `ward`"),
    ("{department: 3}", "{department: 0}", "`department` must be at least 1"),
    ("public: true", "public: true\n    max_rows: 1", "a public table has no `max_rows`"),
    ("public: true", "public: true\n    unit: city", "a public table has no `unit`"),
    ("public: true", "public: true\n    budget: {epsilon: 1, delta: 0}", "a public table has no `budget`"),
    ("public: true", "public: true\n    max_groups: {city: 1}", "a public table has no `max_groups`"),
    ("public: true", "public: true\n    min_group_units: 2", "a public table has no `min_group_units`"),
    # Keys that nothing acts on yet are refused, never ignored.
    ("    max_rows: 20", "    partition_by: day\n    max_rows: 20", "`partition_by` is not supported yet"),
    (
        "    max_rows: 20",
        "    max_rows_per_group: 2\n    max_rows: 20",
        "`max_rows_per_group` is not supported",
    ),
    ("id: clinic ", "analyst_mode: reserved\nid: clinic ", "`analyst_mode: reserved` is not supported yet"),
    ("../sample_data/clinic.duckdb", "postgresql://h/db", "other sources are not supported yet"),
    ("../sample_data/clinic.duckdb", "spark:local", "other sources are not supported yet"),
    ("id: clinic ", "ledger: postgresql://h/db\nid: clinic ", "a database server is not supported yet"),
    (
        "{epsilon: 20, delta: 2.0e-6}",
        "{epsilon: 20, delta: 0, filter: rdp}",
        "`filter` must be portfolio, not the text 'rdp'",
    ),
    # Budgets and prices.
    ("{epsilon: 20, delta: 2.0e-6}", "{epsilon: 20}", "`delta` is missing"),
    ("epsilon: 20", "epsilon: 0", "epsilon must be above 0"),
    ("epsilon: 20", "epsilon: -1", "epsilon must be above 0"),
    ("epsilon: 20", "epsilon: .nan", "`epsilon` must be a finite number"),
    ("epsilon: 20", "epsilon: .inf", "`epsilon` must be a finite number"),
    ("epsilon: 20", "epsilon: 1e-999", "`epsilon` must be a number of at most 60 digits"),
    ("epsilon: 20", "epsilon: much", "`epsilon` must be a number, not the text 'much'"),
    ("epsilon: 20", "epsilon: 200", "no privacy filter can guard this budget"),
    ("epsilon: 5,", "epsilon: 500,", "no privacy filter can guard this budget"),
    ("delta: 2.0e-6", "delta: 1", "delta must be at least 0 and below 1"),
    ("delta: 2.0e-6", "delta: -1e-9", "delta must be at least 0 and below 1"),
    ("delta: 2.0e-6", "delta: 1e-21", "delta must be 0 or at least 1E-20"),
    ("epsilon: 0.1,", "epsilon: 2,", "the default epsilon 2 is above max_epsilon 1.0"),
    ("epsilon: 0.1,", "epsilon: 1e-7,", "between 0.000001 and 50"),
    ("max_epsilon: 1.0", "max_epsilon: 51", "between 0.000001 and 50"),
    ("max_epsilon: 1.0", "max_epsilon: 0", "epsilon must be above 0"),
    ("epsilon: 20,", "epsilon: 1e-7,", "epsilon must lie between 0.000001 and 1000"),
    ("delta: 1.0e-9,", "delta: 1,", "delta must be at least 0 and below 1"),
    ("epsilon: 20,", "epsilon: [20],", "`epsilon` must be a number, not a list"),
    ("epsilon: 20,", "epsilon: {from: 20},", "`epsilon` must be a number, not a mapping"),
    # The privacy unit.
    ("table: patients", "table: patient", "there is no table `patient`"),
    ("table: patients", "table: hospitals", "`hospitals` is a public table"),
    (", key: patient_id}", "}", "`table` and `key` of the privacy unit go together"),
    ("key: patient_id}", "key: patient}", "table `patients` has no column `patient`"),
    (VISITS_UNIT, "    unit: Patient_ID\n", "table `visits` has no column `Patient_ID`"),
    ("{department: 3}", "{Department: 3}", "table `visits` has no column `Department`"),
    ("hospitals.hospital", "Hospitals.hospital", "there is no table `Hospitals`"),
    (VISITS_UNIT, "    unit: patient\n", "table `visits` has no column `patient`"),
    (PATIENTS_BUDGET, f"    unit: age\n{PATIENTS_BUDGET}", "its unit is the key `patient_id`"),
    ("name: patient,", "name: ' ',", "the name is empty"),
    # Columns.
    (AGE, "age: {type: number}", "`type` must be one of"),
    (AGE, "age: {bounds: [0, 1]}", "`type` is missing"),
    (AGE, "age: {type: integer, bounds: [110, 0]}", "the lower bound 110 is above the upper bound 0"),
    (AGE, "age: {type: integer, bounds: [0, 0]}", "so a sum has sensitivity 0"),
    (AGE, "age: {type: integer, bounds: [0, 1.5]}", "must be whole numbers"),
    (AGE, "age: {type: integer, bounds: [0]}", "must be a list of two ends [low, high], not a list of 1"),
    (AGE, "age: {type: integer, bounds: 7}", "must be a list of two ends [low, high], not 7"),
    ("version: 1", "version: 2", "`version` must be 1, not 2"),
    (AGE, "age: {type: integer, bounds: [0, 2024-01-01]}", "both ends must be dates, or both numbers"),
    (AGE, "age: {type: integer, bounds: [0, .inf]}", "`bounds` must be a finite number"),
    (
        AGE,
        "age: {type: integer, bounds: [0, 4503599627370496]}",
        "the largest bound is 2^52 steps of 1 or more",
    ),
    (AGE, "age: {type: text, bounds: [0, 1]}", "numbers cannot bound a column of type text"),
    (
        AGE,
        "age: {type: integer, bounds: [2024-01-01, 2024-01-02]}",
        "dates cannot bound a column of type integer",
    ),
    (AGE, "age: {type: date, bounds: [2024-01-02, 2024-01-01]}", "the lower bound 2024-01-02 is above"),
    (AGE, "age: {type: integer, step: 0.5}", "the step of an integer column must be a whole number"),
    (COST, "cost: {type: double, bounds: [0, 5000], step: 0}", "`step` must be above 0"),
    (COST, "cost: {type: double, bounds: [0, 5000], step: -1}", "`step` must be above 0"),
    (COST, "cost: {type: double, bounds: [0, 5], step: 6}", "the step 6 is wider than the bounds [0, 5]"),
    (COST, "cost: {type: double, bounds: [0, 1e10], step: 1e-6}", "the largest bound is 2^52 steps"),
    (COST, "cost: {type: double, bounds: [0, 1e40]}", "bounds must stay below"),
    (COST, "cost: {type: double, bounds: [0, 1e-40]}", "at least 1E-30 apart"),
    (COST, "cost: {type: text, step: 1}", "`step` is a grid for numbers"),
    (COST, "cost: {type: text, max_sum: 1}", "`max_sum` limits numbers"),
    (COST, "cost: {type: double, max_sum: 1e40}", "`max_sum` must lie between"),
    (COST, "cost: {type: double, max_sum: 0}", "`max_sum` must be above 0"),
    (COST, "cost: {type: double, max_distinct: 0}", "`max_distinct` must be at least 1"),
    (COST, "cost: {type: double, domain: [1]}", "a column of type double cannot be a group key"),
    ("{type: text, unique: true}", "{type: text, constant: true}", "`constant` is about units"),
    ("{type: text, unique: true}", "{type: text, max_distinct: 3}", "`max_distinct` is about units"),
    # Domains.
    ("[F, M, X]", "[]", "the domain lists no value"),
    ("[F, M, X]", "[null]", "the domain lists no value"),
    ("[F, M, X]", "[F, M, F]", "the text 'F' is listed twice"),
    ("[F, M, X]", "[F, 1]", "1 is not of the column's type text"),
    ("[F, M, X]", "[F, true]", "true is not of the column's type text"),
    ("[F, M, X]", "[F, 1.5]", "a domain lists texts, whole numbers, booleans or dates"),
    ("[F, M, X]", "{from: 1, to: 2}", "a range from 1 to 2 does not fit a column of type text"),
    ("[F, M, X]", "{from: 1}", "a range is written {from: ..., to: ...}"),
    ("[F, M, X]", "{from: a, to: b}", "a range goes from one whole number to another"),
    ("[F, M, X]", "7", "`domain` must be a list of values"),
    ("[F, M, X]", "hospital", "`domain` must be written table.column"),
    ("to: 2024-12-31", "to: 2023-12-31", "the range ends at 2023-12-31, before it begins"),
    ("hospitals.hospital", "hospital.hospital", "there is no table `hospital`"),
    ("hospitals.hospital", "hospitals.name", "table `hospitals` has no column `name`"),
    ("hospitals.hospital", "hospitals.beds", "is of type integer, this column of type text"),
    ("hospitals.hospital", "visits.department", "`visits` is a private table"),
    ("[F, M, X]", "[F, M, X], null_group: true", "`null_group` belongs to a range or a reference"),
    ("[F, M, X]", "[F, 9223372036854775808]", "is not of the column's type text"),
    (AGE, "age: {type: integer, domain: [9223372036854775808]}", "is not of the column's type integer"),
    (AGE, "age: {type: integer, bounds: [0, null]}", "`bounds` must be a number, not null"),
    # Names.
    ("  alice:", f"  {'a' * 129}:", "the name is longer than 128 characters"),
    ("id: clinic ", "id: '' ", "`id` must not be empty"),
    ("  alice:", "  '':", "the name is empty"),
    ("  alice:", "  ' alice':", "starts or ends with a space"),
    (
        "alice: {epsilon: 5, delta: 1.0e-6}",
        "a: {epsilon: 5, delta: 0}\n  A: {epsilon: 5, delta: 0}",
        "differ only in",
    ),
    ("  visits:", "  main.visits:", "a name cannot hold a dot"),
    ("visit_id: {type: integer}", "Day: {type: date}", "differ only in upper and lower case"),
]


@pytest.mark.parametrize(("old", "new", "message"), RULES, ids=[rule[2] for rule in RULES])
def test_a_policy_that_breaks_one_rule_is_refused_with_that_rule(old: str, new: str, message: str) -> None:
    found = fault((old, new))

    assert message in found.message


@pytest.mark.parametrize("kind", ["double", "decimal", "boolean", "date", "timestamp"])
def test_a_unit_is_named_by_an_integer_or_a_text_only(kind: str) -> None:
    column = "      patient_id: {type: integer}"
    text = TEXT.replace(column, f"      patient_id: {{type: {kind}}}")

    found = faults(text)

    assert len(found) == 2
    assert all(
        f"is of type {kind}, and a unit is named by an integer or a text" in item.message for item in found
    )


def test_units_of_two_types_are_refused_because_one_unit_would_count_as_two() -> None:
    head, visits = TEXT.split("  visits:")
    text = head + "  visits:" + visits.replace("patient_id: {type: integer}", "patient_id: {type: text}")

    found = faults(text)

    assert [item.message for item in found] == [
        "`visits.patient_id` is of type text and `patients.patient_id` of type integer:"
        " one unit would have two spellings"
    ]


LAB = """  {name}:
    unit: {{column: id, references: {references}}}
    budget: {{epsilon: 1, delta: 0}}
    max_rows: 1
    columns: {{id: {{type: {kind}}}}}
"""


def lab(name: str, references: str, kind: str = "integer") -> str:
    return LAB.format(name=name, references=references, kind=kind)


def test_unit_paths_may_be_chained_but_not_in_a_circle() -> None:
    chain = parse(TEXT + lab("labs", "visits.visit_id") + lab("tubes", "labs.id"), FILE)

    circle = faults(TEXT + lab("labs", "tubes.id") + lab("tubes", "labs.id"))

    assert [step.parent for step in chain.unit_path("tubes")] == ["labs", "visits"]
    assert len(circle) == 2
    assert all("comes back to a table it has passed" in item.message for item in circle)


@pytest.mark.parametrize(
    ("references", "kind", "message"),
    [
        ("visit.visit_id", "integer", "there is no table `visit`"),
        ("visits.visitid", "integer", "table `visits` has no column `visitid`"),
        ("hospitals.beds", "integer", "`hospitals` is a public table, and its rows have no unit"),
        ("visits.visit_id", "text", "one unit would have two spellings"),
        ("visits", "integer", "`unit` must be written table.column"),
    ],
)
def test_a_unit_path_that_leads_nowhere_is_refused(references: str, kind: str, message: str) -> None:
    found = faults(TEXT + lab("labs", references, kind))

    assert any(message in item.message for item in found)
    assert all(item.line > TEXT.count("\n") for item in found)


def test_a_policy_without_private_tables_protects_nobody() -> None:
    text = edited((UNIT, "privacy_unit: {name: patient}"))
    text = text[: text.index("  patients: ")]

    assert "no table is private" in faults(text)[0].message


def test_an_empty_block_of_analysts_does_not_admit_everybody() -> None:
    found = faults(edited(("  alice: {epsilon: 5, delta: 1.0e-6}\n", "")))

    assert [item.message for item in found] == ["`analysts` has no value: give one, or delete the line"]


def test_tables_whose_sum_no_filter_can_guard_need_a_unit_budget() -> None:
    found = faults(
        edited(
            ("budget: {epsilon: 20, delta: 2.0e-6} ", "# "),
            ("{epsilon: 10, delta: 1.0e-6}", "{epsilon: 49, delta: 1.0e-6}"),
            ("{epsilon: 10, delta: 1.0e-6}", "{epsilon: 49, delta: 1.0e-6}"),
        )
    )

    assert "the sum of the tables' budgets: no privacy filter can guard" in found[0].message


def test_a_budget_may_have_delta_zero_but_not_leave_it_out() -> None:
    policy = accepted(("{epsilon: 20, delta: 2.0e-6}", "{epsilon: 20, delta: 0}"))

    assert policy.unit_budget().delta == 0
    assert policy.notices[0] == (
        "With delta 0, no query with groups that have no public domain is admitted: unit:patient."
    )


@pytest.mark.parametrize(
    ("old", "new", "notice"),
    [
        (
            "{epsilon: 5, delta",
            "{epsilon: 0.05, delta",
            "is above the whole budget of analyst:alice: none is admitted",
        ),
        ("{department: 3}", "{department: 30}", "is 30, but 20 rows cannot touch more"),
        (
            "per_query: {epsilon: 0.1, delta: 1.0e-9, max_epsilon: 1.0}",
            "# ",
            "every query must state its epsilon",
        ),
    ],
)
def test_what_is_odd_but_safe_is_a_notice(old: str, new: str, notice: str) -> None:
    policy = accepted((old, new))

    assert any(notice in said for said in policy.notices)
