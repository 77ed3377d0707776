"""Whose a row is, and what one person's rows may become."""

from __future__ import annotations

import datetime
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import NotSupportedError
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.policy.load import parse
from dpsql.session import Session
from tests.properties.neighbours import CAP_KEY, case
from tests.soundness.registry import opened, row, write


def answer(session: Session, sql: str) -> list[tuple[object, ...]]:
    return list(session.answer(sql).rows)


# --- constants ----------------------------------------------------------------------------------------------


def test_a_false_constant_is_one_value_under_every_condition(tmp_path: Path) -> None:
    """Taken after WHERE, the least value would put one person in another part for each day asked about."""
    regions = ("south", "north", "west")
    rows = [
        row("visits", person_id=1, region=region, day=datetime.date(2024, 1, day))
        for day, region in enumerate(regions, start=1)
    ]
    session = opened(write(tmp_path, visits=rows))

    answers = [
        answer(session, f"SELECT region, COUNT(*) FROM visits WHERE day = '2024-01-0{day}' GROUP BY region")
        for day in (1, 2, 3)
    ]

    assert answers == [[("north", 1), ("south", 0)]] * 3
    session.close()


def test_a_constant_reached_through_a_join_is_one_value_too(tmp_path: Path) -> None:
    """Two rows of one person in two hospitals would make it a member of two cities."""
    rows = [row("patients", person_id=1, hospital=name) for name in ("Oak", "Elm")]
    session = opened(write(tmp_path, patients=rows))

    counted = answer(
        session, "SELECT city, COUNT(*) FROM patients JOIN hospitals USING (hospital) GROUP BY city"
    )

    assert counted == [("North", 1), ("South", 0), ("Void", 0)]
    session.close()


# --- owners -------------------------------------------------------------------------------------------------


def test_rows_without_owner_are_never_read(tmp_path: Path) -> None:
    """All of them together would be one person, whose rows belong to many."""
    rows = [row("visits", person_id=None) for _ in range(50)] + [row("visits", person_id=7)]
    session = opened(write(tmp_path, visits=rows))

    assert answer(session, "SELECT COUNT(*), COUNT(DISTINCT person_id), SUM(charge) FROM visits") == [
        (1, 1, 100.0)
    ]
    session.close()


def test_a_row_whose_parent_is_not_unique_has_one_owner(tmp_path: Path) -> None:
    """Joined to both parents, the row would count under two people."""
    visits = [row("visits", visit_id=10, person_id=2), row("visits", visit_id=10, person_id=1)]
    session = opened(write(tmp_path, visits=visits, labs=[row("labs", visit_id=10, grade=5)]))

    assert answer(session, "SELECT COUNT(*), SUM(grade) FROM labs") == [(1, 5)]
    session.close()


def test_a_row_whose_parent_does_not_exist_has_no_owner(tmp_path: Path) -> None:
    """A reference that leads nowhere would be read although it is nobody's."""
    labs = [row("labs", visit_id=99, grade=5), row("labs", visit_id=None, grade=5)]
    session = opened(write(tmp_path, visits=[row("visits", visit_id=None, person_id=1)], labs=labs))

    assert answer(session, "SELECT COUNT(*) FROM labs") == [(0,)]
    session.close()


def test_people_whose_names_differ_in_case_are_two_whatever_the_collation(tmp_path: Path) -> None:
    """A collation that folds letters would make one unit of two people, and their removal moves it twice."""
    with duckdb.connect(str(tmp_path / "names.duckdb")) as connection:
        connection.execute("CREATE TABLE logins (name VARCHAR COLLATE nocase, clicks INTEGER)")
        connection.execute("INSERT INTO logins VALUES ('ann', 1), ('Ann', 1), ('ANN', 1)")
    text = """
    {version: 1, id: names, source: names.duckdb, privacy_unit: {name: user},
     per_query: {epsilon: 1, delta: 0},
     tables: {logins: {unit: name, budget: {epsilon: 5, delta: 0}, max_rows: 1,
                       columns: {name: {type: text}, clicks: {type: integer, bounds: [0, 9]}}}}}
    """
    session = Session.open(parse(text, tmp_path / "names.yaml"), ":memory:", noise=SilentSampler())

    assert answer(session, "SELECT COUNT(DISTINCT name), SUM(clicks) FROM logins") == [(3, 3)]
    session.close()


# --- caps and weights ---------------------------------------------------------------------------------------


def test_groups_are_capped_before_rows_are_weighed(tmp_path: Path) -> None:
    """Weighed first, a person in 1,000 groups would add almost nothing to those that are kept; and uncapped
    it would move 1,000 counts of units by one."""
    rows = [row("visits", person_id=1, note=f"note {i}") for i in range(1000)]
    session = opened(write(tmp_path, visits=rows))
    found = case("SELECT note, COUNT(*) FROM visits GROUP BY note", session.policy, session._backend.facts)

    session.close()
    with duckdb.connect(str(tmp_path / "registry.duckdb"), read_only=True) as database:
        cells = database.execute(found.program.sql, found.program.arguments(CAP_KEY)).fetchall()

    assert [cell[1:] for cell in cells] == [(1024, 1024)] * 2


def test_a_counted_unit_weighs_one_however_many_rows_it_has(tmp_path: Path) -> None:
    """A weighted count would let a person with many rows pass for a fraction under the threshold's tail."""
    rows = [row("visits", person_id=unit, department="oncology") for unit in (1, 2, 3) for _ in range(100)]
    session = opened(write(tmp_path, visits=rows))

    counted = answer(
        session, "SELECT COUNT(DISTINCT person_id), COUNT(*) FROM visits WHERE department = 'oncology'"
    )

    # Three people; of their 300 rows floor(1024 * 4 / 100) / 1024 each.
    assert counted == [(3, round(3 * 100 * (1024 * 4 // 100) / 1024))]
    session.close()


def test_a_group_below_the_minimum_is_dropped_before_noise(tmp_path: Path) -> None:
    """Noise alone may lift a smaller group over the threshold, whatever the owner's minimum is."""
    visits = [row("visits", visit_id=unit, person_id=unit) for unit in (1, 2)]
    labs = [row("labs", visit_id=1, test="rare")] * 3 + [
        row("labs", visit_id=unit, test="common") for unit in (1, 2)
    ]
    session = opened(write(tmp_path, visits=visits, labs=labs))
    found = case("SELECT test, COUNT(*) FROM labs GROUP BY test", session.policy, session._backend.facts)

    session.close()
    with duckdb.connect(str(tmp_path / "registry.duckdb"), read_only=True) as database:
        cells = database.execute(found.program.sql, found.program.arguments(CAP_KEY)).fetchall()

    assert [cell[0] for cell in cells] == ["common"]


# --- joins that would have rows of nobody -----------------------------------------------------------------

REFUSED = {
    "public left join private": "SELECT COUNT(*) FROM hospitals LEFT JOIN patients USING (hospital)",
    "right join": "SELECT COUNT(*) FROM patients p RIGHT JOIN hospitals h ON p.hospital = h.hospital",
    "full join": "SELECT COUNT(*) FROM patients p FULL JOIN hospitals h ON p.hospital = h.hospital",
    "anti join": "SELECT COUNT(*) FROM hospitals h ANTI JOIN patients p ON p.hospital = h.hospital",
    "semi join": "SELECT COUNT(*) FROM hospitals h SEMI JOIN patients p ON p.hospital = h.hospital",
    "in": "SELECT COUNT(*) FROM patients WHERE hospital IN (SELECT ward FROM visits)",
    "not in": "SELECT COUNT(*) FROM patients WHERE person_id NOT IN (SELECT person_id FROM visits)",
    "exists": "SELECT COUNT(*) FROM hospitals h WHERE EXISTS (SELECT 1 FROM patients p)",
    "any": "SELECT COUNT(*) FROM patients WHERE hospital = ANY (SELECT ward FROM visits)",
    "cross join": "SELECT COUNT(*) FROM patients, hospitals",
    "two private tables": "SELECT COUNT(*) FROM patients JOIN visits USING (person_id)",
    "positional join": "SELECT COUNT(*) FROM hospitals POSITIONAL JOIN patients",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_join_whose_rows_depend_on_everybody_is_refused(tmp_path: Path, name: str) -> None:
    """A padded or filtered public row tells that somebody, or nobody, is there: it has no unit."""
    session = opened(write(tmp_path, patients=[row("patients", person_id=1)]))
    before = session.budget()

    with pytest.raises(NotSupportedError):
        session.answer(REFUSED[name])

    assert session.budget() == before
    session.close()
