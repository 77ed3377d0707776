"""Every statement of the corpus is refused with its code; nothing is charged, read or told.

A file holds statements between empty lines; the last line of each is the code it is refused with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from dpsql import errors
from dpsql.errors import Remedy
from dpsql.session import Session
from tests.reference.clinic import SENTINELS, Database

_EXPECTED: Final = re.compile(r"-- (DP\d{3})")


@dataclass(frozen=True)
class Refused:
    """One statement and the code it is refused with."""

    place: str
    sql: str
    code: str


def read_corpus() -> Iterator[Refused]:
    for file in sorted(Path(__file__).parent.glob("*.sql")):
        for number, block in enumerate(file.read_text(encoding="utf-8").strip().split("\n\n"), start=1):
            sql, _, last = block.rpartition("\n")
            expected = _EXPECTED.fullmatch(last)
            assert expected is not None, f"{file.name}, statement {number} has no code"
            yield Refused(f"{file.stem}-{number}", sql, expected.group(1))


CORPUS: Final = list(read_corpus())


@pytest.fixture(scope="module")
def here(hospital: Database) -> Iterator[Session]:
    with hospital.session() as session:
        yield session


@pytest.fixture(scope="module")
def there(neighbour: Database) -> Iterator[Session]:
    with neighbour.session() as session:
        yield session


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.place)
def test_the_statement_is_refused_at_no_cost_and_alike_without_any_one_patient(
    case: Refused, here: Session, there: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    before = here.budget()

    refusal, refusal_there = (refused(session, case.sql) for session in (here, there))

    assert refusal.code.name == case.code, str(refusal)
    assert str(refusal) == str(refusal_there)
    assert here.budget() == before
    assert told_values(refusal, case.sql) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.place)
def test_what_is_refused_has_no_price_either(case: Refused, here: Session) -> None:
    """EXPLAIN shows generated SQL and noise: it must not be more liberal than the answer."""
    with pytest.raises(errors.Error) as refusal:
        here.explain(case.sql)

    assert refusal.value.code.name == case.code


def refused(session: Session, sql: str) -> errors.Error:
    with pytest.raises(errors.Error) as refusal:
        session.answer(sql)
    assert isinstance(refusal.value, errors.NotSupportedError | errors.ProgrammingError)
    assert refusal.value.code.remedy in (Remedy.ANALYST, Remedy.OWNER)
    return refusal.value


def told_values(refusal: errors.Error, sql: str) -> list[str]:
    told = str(refusal).lower()
    return [value for value in SENTINELS if value in told and value not in sql.lower()]


def test_the_corpus_has_each_statement_once() -> None:
    statements = [case.sql for case in CORPUS]

    assert len(statements) >= 150
    assert len(set(statements)) == len(statements)


def test_every_code_for_queries_stands_in_the_corpus() -> None:
    """Codes of prices, analysts and budgets do not depend on the statement alone."""
    others = {
        errors.PRIVATE_KEYS_NEED_DELTA,
        errors.UNDECLARED,
        errors.OVER_CAP,
        errors.ANALYST_UNKNOWN,
        errors.ANALYST_LOCKED,
        errors.UNSAFE_NUMBER,
    }
    expected = {name for name in errors.CODES if name[:3] in ("DP1", "DP2")}

    assert {case.code for case in CORPUS} == expected - {code.name for code in others}
