"""Attack: read the order in which rows were stored, or the size of groups, from the order of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dpsql.engine.rewrite import rewrite
from dpsql.mechanisms import SilentSampler
from dpsql.session import Session, Terms
from dpsql.sql.expression import Column, Value
from tests.reference.clinic import POLICY, Database, opened, priced

DEAR = Terms(Decimal(1))
QUERIES = [
    "SELECT hospital, COUNT(*) FROM patients GROUP BY hospital",
    "SELECT sex, hospital, SUM(cost) FROM patients GROUP BY 1, 2",
    "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis",
    "SELECT diagnosis, COUNT(age), COUNT(*) FROM patients GROUP BY diagnosis",
    "SELECT day, COUNT(*) FROM visits GROUP BY day",
    "SELECT department, AVG(charge), COUNT(*) FROM visits GROUP BY department",
    "SELECT age // 10 AS decade, COUNT(*) FROM patients GROUP BY decade ORDER BY 1 % 2",
    "SELECT hospital, 0 * COUNT(*) AS tie FROM patients GROUP BY hospital ORDER BY tie LIMIT 2",
]


@pytest.fixture(scope="module")
def shuffled(hospital: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The same rows, stored backwards."""
    folder = tmp_path_factory.mktemp("backwards")
    (folder / "clinic.yaml").write_text(POLICY.read_text(encoding="utf-8"), encoding="utf-8")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(f"ATTACH '{hospital.policy.source_path}' AS everybody (READ_ONLY)")
        for table in ("hospitals", "patients", "visits"):
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM everybody.{table} ORDER BY rowid DESC")
    with opened(folder / "clinic.yaml") as database:
        yield database


def answer(session: Session, sql: str) -> list[tuple[Value, ...]]:
    return session.answer(sql, (), DEAR).rows


@pytest.mark.parametrize("sql", QUERIES)
def test_the_order_of_storage_changes_nothing(hospital: Database, shuffled: Database, sql: str) -> None:
    with (
        hospital.session(noise=SilentSampler()) as here,
        shuffled.session(noise=SilentSampler()) as there,
    ):
        assert answer(here, sql) == answer(there, sql)


@pytest.mark.parametrize("sql", QUERIES[:6])
def test_groups_come_in_the_order_of_their_keys(hospital: Database, sql: str) -> None:
    with hospital.session() as session:
        plan = priced(session, sql)
        release = session.answer(sql, (), DEAR)

    items = [item.expression for item in plan.analysis.outer.items]
    keys = {e.name: index for index, e in enumerate(items) if isinstance(e, Column) and e.name[0] == "k"}
    found = [tuple(row[keys[name]] for name in sorted(keys)) for row in release.rows]
    assert found == sorted(found)
    assert len(found) > 1


def test_the_groups_kept_of_a_unit_do_not_depend_on_where_its_rows_stand(
    hospital: Database, shuffled: Database, tmp_path: Path
) -> None:
    """The choice is a keyed hash of the unit and the group; both sessions use the key of one ledger."""
    sql = "SELECT department, COUNT(DISTINCT patient_id) FROM visits GROUP BY department"
    answers = []
    for database in (hospital, shuffled):
        with database.session(ledger=tmp_path / "clinic.ledger.db", noise=SilentSampler()) as session:
            plan = priced(session, sql)
            assert plan.measurements[0].l1 == 3.0
            answers.append(rows_of(database, session, sql))

    assert answers[0] == answers[1]


def rows_of(database: Database, session: Session, sql: str) -> list[tuple[object, ...]]:
    """The exact cells, which the second session would otherwise get as a replay."""
    program = rewrite(priced(session, sql), database.policy)
    given = program.arguments(session._ledger.cap_key)
    return database.backend._connection.execute(program.sql, given).fetchall()
