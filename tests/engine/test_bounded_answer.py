"""Without noise, every answer is the exact bounded answer."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pytest

from dpsql.engine.duckdb import DuckDBBackend
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.policy.model import Policy
from dpsql.session import Session, Terms, open_ledger
from tests.engine.bounding import Average, Count, Question, Record, Sum, Units
from tests.strategies import Database, random_database, store

HOSPITALS: Final = {"Elm": "North", "Oak": "South", "O'Brien": "North"}
NURSES: Final = {"w1": ("Ann", "Bob", "Cy"), "w2": ("Dee",)}
DEPARTMENTS: Final = ("cardiology", "oncology", "surgery", None)
CHARGE: Final = Sum(lambda r: r["charge"], 10, 5000, 100)
COST: Final = Sum(lambda r: r["cost"], -200, 50000, 100)
MINUTES: Final = Sum(lambda r: r["minutes"], -30, 240, limit=300)
ROOM: Final = Sum(lambda r: r["room"], 1, 100)
HOSPITAL: Final = (("hospital", tuple(HOSPITALS)),)
SEX: Final = (("sex", ("F", "M")),)
REGION: Final = (("region", ("north", "south")),)


def column(name: str) -> Any:
    return lambda record: record[name]


def nurses(record: Record) -> list[Record]:
    return [{**record, "nurse": nurse} for nurse in NURSES.get(record["ward"], ())]


def nurses_or_none(record: Record) -> list[Record]:
    return nurses(record) or [{**record, "nurse": None}]


def more(record: Record, name: str, bound: float) -> bool:
    """SQL's ``name > bound``: NULL is not, and NaN is above everything."""
    value = record[name]
    return value is not None and not value <= bound


QUESTIONS: Final = {
    "certain rows": Question(
        "SELECT COUNT(*), SUM(level), COUNT(income) FROM members",
        "members",
        (Count(), Sum(column("level"), -3, 12), Count(lambda r: r["income"] is not None)),
        1,
    ),
    "certain public key": Question(
        "SELECT colour, COUNT(*), AVG(level) FROM members GROUP BY colour",
        "members",
        (Count(), Average(Sum(column("level"), -3, 12))),
        1,
        (column("colour"),),
        (("green", "it's; -- blue", "red"),),
    ),
    "certain private key": Question(
        "SELECT team, COUNT(*), SUM(level) FROM members GROUP BY team",
        "members",
        (Units(), Sum(column("level"), -3, 12)),
        1,
        (column("team"),),
        (None,),
    ),
    "promised single rows": Question(
        "SELECT COUNT(*), SUM(cost), COUNT(DISTINCT person_id) FROM patients",
        "patients",
        (Count(), COST, Units()),
        1,
    ),
    "constant key": Question(
        "SELECT hospital, COUNT(*), SUM(cost) FROM patients GROUP BY hospital",
        "patients",
        (Count(), COST),
        1,
        (column("hospital"),),
        (tuple(HOSPITALS),),
        constants=HOSPITAL,
    ),
    "constant key with a group of none": Question(
        "SELECT sex, COUNT(*), AVG(cost) FROM patients GROUP BY sex",
        "patients",
        (Count(), Average(COST)),
        1,
        (column("sex"),),
        (("F", "M", None),),
        constants=SEX,
    ),
    "condition on a constant": Question(
        "SELECT COUNT(*), SUM(cost) FROM patients WHERE sex = 'F'",
        "patients",
        (Count(), COST),
        1,
        where=lambda r: r["sex"] == "F",
        constants=SEX,
    ),
    "join on a constant": Question(
        "SELECT city, COUNT(*), SUM(cost) FROM patients JOIN hospitals USING (hospital) GROUP BY city",
        "patients",
        (Count(), COST),
        1,
        (lambda r: HOSPITALS[r["hospital"]],),
        (("North", "South", "Void"),),
        where=lambda r: r["hospital"] in HOSPITALS,
        constants=HOSPITAL,
    ),
    "private key of single rows": Question(
        "SELECT diagnosis, COUNT(*), AVG(cost) FROM patients GROUP BY diagnosis",
        "patients",
        (Units(), Average(COST)),
        1,
        (column("diagnosis"),),
        (None,),
    ),
    "rows": Question(
        "SELECT COUNT(*), COUNT(note), SUM(charge), AVG(room) FROM visits",
        "visits",
        (Count(), Count(lambda r: r["note"] is not None), CHARGE, Average(ROOM)),
        4,
    ),
    "units and filters": Question(
        "SELECT COUNT(DISTINCT person_id) FILTER (WHERE urgent), COUNT(*) FILTER (WHERE charge > 100)"
        " FROM visits",
        "visits",
        (Units(lambda r: r["urgent"]), Count(lambda r: more(r, "charge", 100))),
        4,
    ),
    "conditions": Question(
        "SELECT COUNT(*), SUM(charge) FROM visits WHERE urgent AND charge > 20",
        "visits",
        (Count(), CHARGE),
        4,
        where=lambda r: r["urgent"] and more(r, "charge", 20),
    ),
    "public key": Question(
        "SELECT department, COUNT(*), SUM(charge) FROM visits GROUP BY department",
        "visits",
        (Count(), CHARGE),
        4,
        (column("department"),),
        (DEPARTMENTS,),
        2,
    ),
    "units by a key with a group of none": Question(
        "SELECT department, COUNT(DISTINCT person_id), AVG(charge) FROM visits GROUP BY department",
        "visits",
        (Units(), Average(CHARGE)),
        4,
        (column("department"),),
        (DEPARTMENTS,),
        2,
    ),
    "units by a truth": Question(
        "SELECT urgent, COUNT(DISTINCT person_id), COUNT(*) FROM visits GROUP BY urgent",
        "visits",
        (Units(), Count()),
        4,
        (column("urgent"),),
        ((False, True),),
        4,
    ),
    "units by a long range": Question(
        "SELECT room, COUNT(DISTINCT person_id) FROM visits GROUP BY room",
        "visits",
        (Units(),),
        4,
        (column("room"),),
        (tuple(range(1, 101)),),
        3,
    ),
    "units by a short list": Question(
        "SELECT note, COUNT(DISTINCT person_id) FROM visits WHERE note IN ('a', 'b', 'it''s', '')"
        " GROUP BY note",
        "visits",
        (Units(),),
        4,
        (column("note"),),
        (("", "a", "b", "it's"),),
        2,
    ),
    "days": Question(
        "SELECT day, COUNT(*), SUM(charge) FROM visits GROUP BY day",
        "visits",
        (Count(), CHARGE),
        4,
        (column("day"),),
        (tuple(datetime.date(2024, 1, 1) + datetime.timedelta(days=n) for n in range(366)),),
        4,
    ),
    "constant key of many rows": Question(
        "SELECT region, COUNT(*), SUM(charge), COUNT(DISTINCT person_id) FROM visits GROUP BY region",
        "visits",
        (Count(), CHARGE, Units()),
        4,
        (column("region"),),
        (("north", "south"),),
        constants=REGION,
    ),
    "constant and other key": Question(
        "SELECT region, department, COUNT(*), SUM(minutes) FROM visits GROUP BY 1, 2",
        "visits",
        (Count(), MINUTES),
        4,
        (column("region"), column("department")),
        (("north", "south"), DEPARTMENTS),
        2,
        constants=REGION,
    ),
    "private key": Question(
        "SELECT note, COUNT(*), SUM(charge) FROM visits GROUP BY note",
        "visits",
        (Count(), CHARGE),
        4,
        (column("note"),),
        (None,),
        2,
    ),
    "private key with filters": Question(
        "SELECT note, AVG(room), COUNT(DISTINCT person_id) FILTER (WHERE urgent) FROM visits GROUP BY note",
        "visits",
        (Average(ROOM), Units(lambda r: r["urgent"])),
        4,
        (column("note"),),
        (None,),
        2,
    ),
    "mixed keys": Question(
        "SELECT urgent, note, COUNT(*) FROM visits GROUP BY 1, 2",
        "visits",
        (Count(),),
        4,
        (column("urgent"), column("note")),
        ((False, True), None),
        4,
    ),
    "limited sum": Question(
        "SELECT SUM(minutes), COUNT(*), SUM(charge) FROM visits", "visits", (MINUTES, Count(), CHARGE), 4
    ),
    "limited sum by a private key": Question(
        "SELECT note, SUM(minutes), COUNT(*) FROM visits GROUP BY note",
        "visits",
        (MINUTES, Count()),
        4,
        (column("note"),),
        (None,),
        2,
    ),
    "fan-out": Question(
        "SELECT COUNT(*), SUM(charge) FROM visits JOIN wards USING (ward)",
        "visits",
        (Count(), CHARGE),
        12,
        expand=nurses,
    ),
    "fan-out by a public key": Question(
        "SELECT nurse, COUNT(*), COUNT(DISTINCT person_id) FROM visits JOIN wards USING (ward)"
        " GROUP BY nurse",
        "visits",
        (Count(), Units()),
        12,
        (column("nurse"),),
        (("Ann", "Bob", "Cy", "Dee", "Eve"),),
        12,
        expand=nurses,
    ),
    "left join": Question(
        "SELECT COUNT(*), SUM(charge) FROM visits LEFT JOIN wards USING (ward) WHERE nurse IS NULL"
        " OR nurse = 'Ann'",
        "visits",
        (Count(), CHARGE),
        12,
        where=lambda r: r["nurse"] in (None, "Ann"),
        expand=nurses_or_none,
    ),
    "path": Question(
        "SELECT COUNT(*), SUM(grade), AVG(grade) FROM labs",
        "labs",
        (Count(), Sum(column("grade"), -9, 9), Average(Sum(column("grade"), -9, 9))),
        3,
    ),
    "path with a private key": Question(
        "SELECT test, COUNT(*), SUM(grade) FROM labs GROUP BY test",
        "labs",
        (Count(), Sum(column("grade"), -9, 9)),
        3,
        (column("test"),),
        (None,),
        2,
    ),
    "path of two steps": Question(
        "SELECT kind, COUNT(*), SUM(ml) FROM samples GROUP BY kind",
        "samples",
        (Count(), Sum(column("ml"), 0, 50)),
        2,
        (column("kind"),),
        (("blood", "urine"),),
        constants=(("kind", ("blood", "urine")),),
    ),
}


@pytest.fixture(scope="module", params=[1, 2])
def registry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Policy, Database, DuckDBBackend]]:
    database = random_database(request.param, units=60)
    policy = store(tmp_path_factory.mktemp("registry"), database)
    backend = DuckDBBackend(policy)
    yield policy, database, backend
    backend.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_without_noise_is_the_bounded_answer(
    registry: tuple[Policy, Database, DuckDBBackend], name: str
) -> None:
    policy, database, backend = registry
    question = QUESTIONS[name]
    ledger = open_ledger(policy, backend.facts.digest, ":memory:")
    session = Session(policy, ledger, backend, "analyst", SilentSampler())
    terms = Terms(epsilon=Decimal(49))

    plan = session.explain(question.sql, terms=terms)
    rows = session.answer(question.sql, terms=terms).rows

    expected = question.answer(database, ledger.cap_key, plan.threshold_units or 0)
    assert len(expected) > 0
    assert [row[: len(question.keys)] for row in rows] == [row[: len(question.keys)] for row in expected]
    for got, wanted in zip(rows, expected, strict=True):
        assert got[len(question.keys) :] == pytest.approx(wanted[len(question.keys) :], rel=1e-12, abs=1e-9)
    ledger.close()
