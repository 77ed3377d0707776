"""Attack: one person's row holds the value that spoils a sum: NaN, infinity, NULL, or too many rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import duckdb
import pytest

from dpsql.mechanisms import SilentSampler
from dpsql.session import Session, Terms
from dpsql.sql.expression import Column
from tests.reference.clinic import POLICY, Database, opened, priced

DEAR: Final = Terms(Decimal(1))

POISON: Final = {
    "nan": "SELECT 1000, 'Elm', 'F', 50, 'flu', 'nan'::DOUBLE",
    "infinite": "SELECT 1000, 'Elm', 'F', 2147483647, 'flu', 'inf'::DOUBLE",
    "negative": "SELECT 1000, 'Elm', 'F', -2147483648, 'flu', '-inf'::DOUBLE",
    "null": "SELECT 1000, NULL, NULL, NULL, NULL, NULL",
    "elsewhere": "SELECT 1000, 'elm', 'f ', 50, '''); --', 1e308",
    "everywhere": "SELECT 1000, h.hospital, s.sex, 50, 'flu', 49999 FROM hospitals h,"
    " (VALUES ('F'), ('M'), ('X')) s(sex), range(300)",
    "nobody": "SELECT NULL, 'Elm', 'F', 50, 'flu', 'nan'::DOUBLE FROM range(100000)",
}
VISITS: Final = (
    "INSERT INTO visits SELECT i, 1000, DATE '2024-01-01' + (i % 366)::INTEGER,"
    " ['cardiology', 'oncology', 'surgery', 'magic', NULL][i % 5 + 1],"
    " [5e3, 'inf', 'nan', -1, NULL][i % 5 + 1]"
    " FROM range(20000) t(i)"
)
QUERIES: Final = [
    "SELECT COUNT(*), COUNT(age), SUM(cost), SUM(age), AVG(cost), AVG(age) FROM patients",
    "SELECT hospital, COUNT(*), SUM(cost), SUM(age * 2 - 50) FROM patients GROUP BY hospital",
    "SELECT sex, hospital, COUNT_IF(cost > 100), SUM(LEAST(cost, 1000)) FROM patients GROUP BY ALL",
    "SELECT COUNT(DISTINCT patient_id), COUNT(department) FROM visits",
    "SELECT department, COUNT(*), SUM(charge) FROM visits GROUP BY department",
    "SELECT day, COUNT(*) FROM visits GROUP BY day",
    "SELECT h.city, SUM(p.cost) FROM patients p JOIN hospitals h ON p.hospital = h.hospital GROUP BY h.city",
]


@pytest.fixture(scope="module", params=POISON)
def poisoned(
    request: pytest.FixtureRequest, hospital: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """The clinic with one more patient, whose rows are meant to do harm."""
    folder = tmp_path_factory.mktemp("poisoned")
    (folder / "clinic.yaml").write_bytes(POLICY.read_bytes())
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(f"ATTACH '{hospital.policy.source_path}' AS everybody (READ_ONLY)")
        for table in ("hospitals", "patients", "visits"):
            connection.execute(f"CREATE TABLE {table} AS FROM everybody.{table}")
        connection.execute(f"INSERT INTO patients {POISON[request.param]}")
        connection.execute(VISITS)
    with opened(folder / "clinic.yaml") as database:
        yield database


def cells(session: Session, sql: str) -> dict[int, list[float]]:
    """Each noisy column's values, by its place."""
    release = session.answer(sql, (), DEAR)
    noisy = [place for place, column in enumerate(release.columns) if not column.exact]
    return {place: [float(str(row[place])) for row in release.rows] for place in noisy}


@pytest.mark.parametrize("sql", QUERIES)
def test_one_person_moves_no_answer_by_more_than_the_plan_says(
    hospital: Database, poisoned: Database, sql: str
) -> None:
    """The noise is silent, so answers are exact and NaN or NULL would be seen."""
    with (
        hospital.session(noise=SilentSampler()) as clean,
        poisoned.session(noise=SilentSampler()) as harmed,
    ):
        plan = priced(clean, sql)
        before, after = cells(clean, sql), cells(harmed, sql)

    limits = {
        place: plan.measurements[int(item.expression.name[1:]) - 1].l1 + 1
        for place, item in enumerate(plan.analysis.outer.items)
        if isinstance(item.expression, Column) and item.expression.name[0] == "m"
    }
    assert limits
    for place, limit in limits.items():
        moved = sum(abs(a - b) for a, b in zip(before[place], after[place], strict=True))
        assert moved <= limit


def test_an_average_stays_between_its_bounds(poisoned: Database) -> None:
    with poisoned.session(noise=SilentSampler()) as session:
        release = session.answer("SELECT sex, AVG(cost), AVG(age) FROM patients GROUP BY sex", (), DEAR)

    for _, cost, age in release.rows:
        assert isinstance(cost, float)
        assert isinstance(age, float)
        assert 0 <= cost <= 50_000
        assert 0 <= age <= 110
