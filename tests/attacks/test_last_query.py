"""Attack: two processes ask at once for what only one of them can still pay."""

from __future__ import annotations

import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Final

from dpsql.ledger import Charged
from dpsql.session import Terms
from tests.ledger.clinic import faults, start
from tests.reference.clinic import Database

LAST: Final = """
import sys
from decimal import Decimal
from dpsql import errors
from dpsql.session import Session, Terms

session = Session.open(sys.argv[1], sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
try:
    session.answer(sys.argv[3], (), Terms(Decimal(1)))
    print("answered")
except errors.BudgetExceeded as refusal:
    print("refused", refusal.account)
"""


def test_exactly_one_of_two_processes_gets_the_last_query(hospital: Database, tmp_path: Path) -> None:
    location = tmp_path / "clinic.ledger.db"
    policy = hospital.policy.source_path.with_name("clinic.yaml")
    with hospital.session(ledger=location) as session:
        for number in range(9):
            session.answer(f"SELECT COUNT(*) FROM patients WHERE age > {number}", (), Terms(Decimal(1)))

    racers = [
        start(LAST, policy, location, f"SELECT SUM(age) FROM patients WHERE age > {number}")
        for number in (1, 2)
    ]
    outcomes = race(racers)

    assert sorted(outcomes) == ["answered", "refused table:patients"]
    with hospital.session(ledger=location) as session:
        entries = [numbered.entry for numbered in session._ledger.entries()]
        assert sum(isinstance(entry, Charged) for entry in entries) == 10
        assert faults(session._ledger.verify()) == set()


def race(racers: list[subprocess.Popen[str]]) -> list[str]:
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [racer.communicate()[0].strip() for racer in racers]
