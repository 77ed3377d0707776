"""Attack: find a query that crashes, or that fails on some rows and so tells of them.

The rows are the worst of their types. Whatever is asked, dpsql answers or refuses before it reads; an engine
failure after the charge would be a bit about the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.mechanisms import SilentSampler
from dpsql.session import Terms
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.attacks.grammar import ANY_TEXT, TEXTS_NEAR_SQL, damaged, queries
from tests.attacks.hostile import hostile
from tests.reference.clinic import Database
from tests.reference.test_cases import CASES

REFUSALS: Final = (errors.NotSupportedError, errors.ProgrammingError)
KNOWN: Final = [case.sql for case in CASES]
DEAR: Final = Terms(Decimal(20), Decimal("1e-7"))
QUICK: Final = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
LONG: Final = settings(QUICK, max_examples=5000)

FOUND: Final = (
    "SELECT LOWER('') AS g, COUNT(*) FROM events GROUP BY 1",
    "SELECT DATE_TRUNC('year', DATE '2000-02-29') AS g, COUNT(*) FROM events GROUP BY 1",
    "SELECT 0 AS g, COUNT(*), SUM(small) FROM events GROUP BY 1 ORDER BY 1 LIMIT 0",
    "SELECT 7 AS g, COUNT(*) FROM events GROUP BY 1 ORDER BY ALL",
    "SELECT AVG(LEAST(1e-320, ratio)), AVG(7) FROM events",
    "SELECT 9223372036854775807 + 9223372036854775807 AS g, COUNT(*) FROM events GROUP BY 1",
    "SELECT wild + 9223372036854775807 AS g, COUNT(*) FROM events GROUP BY 1",
    "SELECT small - 1000000007 - CAST(ratio AS SMALLINT) AS g, COUNT(*) FROM events GROUP BY 1",
    "SELECT GREATEST(CAST(seen AS DATE), born) AS g, COUNT(*) FROM events GROUP BY 1",
)
"""Queries that failed once, each in a way of its own."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with hostile(tmp_path_factory.mktemp("hostile")) as opened:
        yield opened


def answered(database: Database, sql: str) -> bool:
    """Whether the query was answered; anything but an answer and a refusal fails the test.

    The price is so high and the noise so silent that private groups of few people are shown, too.
    """
    with database.session(noise=SilentSampler()) as session:
        try:
            session.answer(sql, (), DEAR)
        except REFUSALS:
            return False
        return True


@pytest.mark.parametrize("sql", FOUND)
def test_a_query_that_failed_once_is_answered(database: Database, sql: str) -> None:
    assert answered(database, sql)


def test_a_public_day_that_no_calendar_holds_reads_as_null(database: Database) -> None:
    with database.session() as session:
        rows = session.answer("SELECT opened, COUNT(*) FROM places GROUP BY opened ORDER BY 1").rows

    assert [day and day.isoformat() for day, _ in rows] == ["1999-12-31", "2000-02-29", None]  # type: ignore[union-attr]


@QUICK
@given(sql=queries())
def test_no_query_over_the_worst_rows_fails(database: Database, sql: str) -> None:
    answered(database, sql)


@pytest.mark.slow
@LONG
@given(sql=queries())
def test_no_query_of_very_many_over_the_worst_rows_fails(database: Database, sql: str) -> None:
    answered(database, sql)


@QUICK
@given(text=st.one_of(ANY_TEXT, TEXTS_NEAR_SQL))
def test_no_text_crashes_the_reader(database: Database, text: str) -> None:
    answered(database, text)


@settings(QUICK, max_examples=1500)
@given(sql=damaged(KNOWN))
def test_no_damaged_query_crashes_the_reader(hospital: Database, sql: str) -> None:
    """Words of known queries are lost, doubled, swapped and mixed: most are nearly SQL."""
    try:
        resolve(parse(sql), hospital.policy)
    except REFUSALS:
        return


def test_the_grammar_makes_queries_that_are_answered(database: Database) -> None:
    """A fuzzer whose every query is refused finds nothing."""
    found: list[bool] = []

    @settings(QUICK, max_examples=100, database=None, derandomize=True)
    @given(sql=queries())
    def ask(sql: str) -> None:
        found.append(answered(database, sql))

    ask()

    assert sum(found) > len(found) / 4
