"""Attack: ask for two totals that one person alone tells apart; their difference is that person's value.

Denning, Denning, Schwartz 1979, "The tracker: a threat to statistical database security".
"""

from __future__ import annotations

import math
import statistics

from dpsql.session import Session
from tests.reference.clinic import Database

EVERYBODY = "SELECT SUM(cost) FROM patients"
ALL_BUT_ONE = "SELECT SUM(cost) FROM patients WHERE patient_id <> 3"
ONLY_ONE = "SELECT SUM(CASE WHEN patient_id = 3 THEN cost ELSE 0 END) FROM patients"
ATTEMPTS = 40


def number(session: Session, sql: str) -> float:
    value = session.answer(sql).rows[0][0]
    assert isinstance(value, float)
    return value


def pairs(hospital: Database) -> list[tuple[float, float]]:
    found = []
    for _ in range(ATTEMPTS):
        with hospital.session() as session:
            found.append((number(session, EVERYBODY), number(session, ALL_BUT_ONE)))
    return found


def test_the_difference_of_two_totals_drowns_in_the_noise_of_both(hospital: Database) -> None:
    """Were the noise shared, or left out of the second answer, the difference would not spread so far."""
    with hospital.session() as session:
        plan = session.explain(EVERYBODY)
    most_of_one = plan.measurements[0].l1
    one_answer = math.sqrt(2) * plan.measurements[0].scale

    found = pairs(hospital)

    spread = statistics.stdev(whole - rest for whole, rest in found)
    assert spread > 0.5 * math.sqrt(2) * one_answer
    assert spread > 5 * most_of_one
    assert abs(statistics.correlation(*zip(*found, strict=True))) < 0.75


def test_both_totals_are_charged(hospital: Database) -> None:
    with hospital.session() as session:
        session.answer(EVERYBODY)
        session.answer(ALL_BUT_ONE)
        spent = {state.account: 1 - state.rules["basic"] for state in session.budget()}

    assert math.isclose(spent["table:patients"], 0.2 / 10)
    assert math.isclose(spent["unit:patient"], 0.2 / 20)


def test_a_total_over_one_person_has_the_noise_of_a_total_over_all(hospital: Database) -> None:
    with hospital.session() as session:
        one, all_ = (session.explain(sql).measurements[0] for sql in (ONLY_ONE, EVERYBODY))

    assert one.l1 == all_.l1
    assert math.isclose(one.scale, all_.scale, rel_tol=1e-6), "apart from the grid"
