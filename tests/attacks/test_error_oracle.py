"""Attack: an expression that fails on one person's row only, so that an error tells that the row is there.

Johnson, Near, Song 2018 (arXiv:1706.09479) and others leave this to the database.
"""

from __future__ import annotations

import logging
import traceback

import pytest

from dpsql import errors
from dpsql.mechanisms import SilentSampler
from tests.reference.clinic import SENTINELS, Database

ON_ONE_ROW = [
    "SELECT SUM(CASE WHEN 1 // (patient_id - 1) > 0 THEN 9 ELSE 0 END) FROM patients",
    "SELECT SUM(CASE WHEN cost / (patient_id - 1) > 0 THEN 9 ELSE 0 END) FROM patients",
    "SELECT COUNT(patient_id % (patient_id - 1)) FROM patients",
    "SELECT SUM(age // (age - 50)) FROM patients",
    "SELECT COUNT(*) FROM patients WHERE SQRT(1.5 - patient_id) > 0",
    "SELECT COUNT(*) FROM patients WHERE LN(patient_id - 1) > 1",
    "SELECT COUNT(*) FROM patients WHERE EXP(1000 * (2 - patient_id)) > 1",
    "SELECT COUNT(*) FROM patients WHERE (2 - patient_id) * 9223372036854775807 + 9223372036854775807 > 0",
    "SELECT COUNT(*) FROM patients WHERE ABS(patient_id * -9223372036854775807 - 1) > 0",
    "SELECT COUNT(*) FROM patients WHERE CAST((2 - patient_id) * 1000 AS TINYINT) IS NULL",
    "SELECT COUNT(*) FROM patients WHERE CAST(cost * 1e300 / patient_id AS INTEGER) IS NULL",
    "SELECT COUNT(*) FROM patients WHERE TRY_CAST(diagnosis AS DATE) IS NULL",
    "SELECT COUNT(*) FROM patients WHERE TRY_CAST(diagnosis || '1' AS INTEGER) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('year', day) < '2024-06-01'",
    "SELECT hospital, COUNT(*) FROM patients WHERE 1 // (patient_id - 1) IS NULL GROUP BY hospital",
    "SELECT 7 // (patient_id - 1) > 0 AS side, COUNT(*) FROM patients WHERE age > 1 GROUP BY side",
]


@pytest.mark.parametrize("sql", ON_ONE_ROW)
def test_a_failure_on_one_row_is_no_failure_of_the_query(
    hospital: Database, neighbour: Database, sql: str
) -> None:
    outcomes = []
    for database in (hospital, neighbour):
        with database.session(noise=SilentSampler()) as session:
            try:
                outcomes.append(f"{len(session.answer(sql).rows)} rows")
            except (errors.NotSupportedError, errors.ProgrammingError) as refusal:
                outcomes.append(str(refusal))

    assert outcomes[0] == outcomes[1]


def test_most_of_them_are_answered(hospital: Database) -> None:
    """Refusing all would pass the test above."""
    answered = 0
    with hospital.session() as session:
        for sql in ON_ONE_ROW:
            try:
                session.answer(sql)
            except errors.NotSupportedError:
                continue
            answered += 1

    assert answered >= len(ON_ONE_ROW) - 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(cost) FROM patients WHERE diagnosis = kuru",
        "SELECT kuru FROM patients",
        "SELECT SUM(diagnosis) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE CAST(diagnosis AS INTEGER) = 1",
        "SELECT ERROR(diagnosis) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE diagnosis > 5",
    ],
)
def test_neither_a_message_nor_a_trace_nor_the_log_holds_a_value_of_a_row(
    hospital: Database, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    with hospital.session() as session, pytest.raises(errors.Error) as refusal:
        session.answer(sql)

    shown = "".join(traceback.format_exception(refusal.value)) + caplog.text
    told = [value for value in SENTINELS if value in shown.replace(sql, "")]
    assert told == []
    assert refusal.value.__cause__ is None
