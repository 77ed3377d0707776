"""Groups are public where their keys are, and one unit touches as many as the policy allows."""

from __future__ import annotations

import datetime

import pytest

from dpsql import errors
from dpsql.analysis.analysis import Analysis, analyse
from dpsql.analysis.partitions import Partitioning
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.reference.clinic import Database


def analysed(database: Database, sql: str) -> Analysis:
    return analyse(resolve(parse(sql), database.policy), database.policy, database.backend.facts)


def groups(database: Database, keys: str, table: str = "visits", where: str = "TRUE") -> Partitioning:
    names = ", ".join(f"{key} AS g{number}" for number, key in enumerate(keys.split("; ")))
    listed = ", ".join(f"g{number}" for number in range(len(keys.split("; "))))
    sql = f"SELECT {names}, COUNT(*) FROM {table} WHERE {where} GROUP BY {listed}"
    return analysed(database, sql).partitioning


@pytest.mark.parametrize(
    ("keys", "table", "cells"),
    [
        ("hospital", "patients", 5),
        ("sex", "patients", 3),
        ("hospital; sex", "patients", 15),
        ("age", "patients", 111),
        ("age // 10", "patients", 12),
        ("age > 50", "patients", 2),
        ("LOWER(sex)", "patients", 3),
        ("sex = 'F'; hospital", "patients", 10),
        ("day", "visits", 366),
        ("DATE_TRUNC('month', day)", "visits", 12),
        ("EXTRACT(month FROM day)", "visits", 12),
        ("EXTRACT(dow FROM day)", "visits", 7),
        ("CASE WHEN age < 18 THEN 'child' ELSE 'adult' END", "patients", 2),
        ("CASE WHEN age < 18 THEN 'child' END", "patients", 1),
    ],
)
def test_functions_of_public_columns_have_public_groups(
    hospital: Database, keys: str, table: str, cells: int
) -> None:
    found = groups(hospital, keys, table)

    assert found.public
    assert found.cells == cells


@pytest.mark.parametrize(
    "keys", ["diagnosis", "hospital; diagnosis", "diagnosis || sex", "LEFT(diagnosis, 1)"]
)
def test_one_private_key_makes_the_groups_private(hospital: Database, keys: str) -> None:
    found = groups(hospital, keys, "patients")

    assert not found.public
    assert found.cells is None


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("diagnosis IN ('flu', 'asthma')", ("asthma", "flu")),
        ("diagnosis = 'flu'", ("flu",)),
        ("diagnosis IN ('flu', 'asthma') AND diagnosis = 'flu' AND age > 3", ("flu",)),
        ("diagnosis IN ('flu', NULL)", ("flu",)),
    ],
)
def test_a_list_of_constants_makes_a_key_public(
    hospital: Database, where: str, values: tuple[str, ...]
) -> None:
    assert groups(hospital, "diagnosis", "patients", where).keys[0].domain == values


@pytest.mark.parametrize(
    "where",
    [
        "diagnosis IN ('flu') OR age > 3",
        "NOT diagnosis IN ('flu')",
        "diagnosis LIKE 'flu'",
        "diagnosis > 'flu'",
        "LOWER(diagnosis) = 'flu'",
        "diagnosis = hospital",
    ],
)
def test_a_condition_that_lists_nothing_leaves_a_key_private(hospital: Database, where: str) -> None:
    assert groups(hospital, "diagnosis", "patients", where).keys[0].domain is None


def test_a_list_narrows_a_domain_and_never_widens_it(hospital: Database) -> None:
    found = groups(hospital, "sex", "patients", "sex IN ('F', 'Q')")

    assert found.keys[0].domain == ("F",)


@pytest.mark.parametrize(
    ("keys", "table", "touched"),
    [
        ("hospital", "patients", 1),
        ("hospital; sex", "patients", 1),
        ("diagnosis", "patients", 1),
        ("department", "visits", 3),
        ("day", "visits", 20),
        ("department; day", "visits", 20),
        ("department = 'surgery'", "visits", 2),
        ("EXTRACT(month FROM day)", "visits", 12),
        ("day > '2024-07-01'", "visits", 2),
        ("department || 'x'", "visits", 3),
    ],
)
def test_a_unit_touches_no_more_groups_than_its_bounds_allow(
    hospital: Database, keys: str, table: str, touched: int
) -> None:
    assert groups(hospital, keys, table).touched == touched


def test_values_come_in_the_order_of_bytes_or_days(hospital: Database) -> None:
    days = groups(hospital, "day").keys[0].domain
    sexes = groups(hospital, "CASE WHEN age < 9 THEN 'a' WHEN age < 20 THEN 'Z' ELSE 'é' END", "patients")

    assert days is not None
    assert days[:2] == (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2))
    assert sexes.keys[0].domain == ("Z", "a", "é")


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("patient_id", "DP204"),
        ("patient_id % 10", "DP204"),
        ("charge", "DP207"),
        ("charge > 10; charge", "DP207"),
        ("day; EXTRACT(dow FROM day); EXTRACT(week FROM day); EXTRACT(day FROM day)", "DP207"),
    ],
)
def test_some_keys_are_refused(hospital: Database, keys: str, code: str) -> None:
    with pytest.raises(errors.UnsupportedQuery) as refusal:
        groups(hospital, keys)

    assert refusal.value.code.name == code
    assert refusal.value.hint is not None


def test_a_query_without_keys_has_one_group(hospital: Database) -> None:
    found = analysed(hospital, "SELECT COUNT(*) FROM visits").partitioning

    assert found.keys == ()
    assert found.cells == found.touched == 1
    assert found.constant
