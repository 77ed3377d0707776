"""Attack: kill the proxy between the charge and the answer, and ask again at no charge."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from dpsql.ledger import Charged, Released
from tests.ledger.clinic import faults, start
from tests.reference.clinic import Database

SQL: Final = "SELECT COUNT(*) FROM patients"

HANGING: Final = """
import sys, time
from dpsql.session import Session, open_ledger
from dpsql.engine.duckdb import DuckDBBackend
from dpsql.policy.load import load
from dpsql.mechanisms import Sampler
from reference.clinic import Shared

class Hanging(Shared):
    def measure(self, *paid):
        cells = super().measure(*paid)
        print("measured", flush=True)
        time.sleep(60)
        return cells

policy = load(sys.argv[1])
backend = DuckDBBackend(policy)
ledger = open_ledger(policy, backend.facts.digest, sys.argv[2])
Session(policy, ledger, Hanging(backend), "ann", Sampler()).answer(sys.argv[3])
print("answered", flush=True)
"""

ASKING: Final = """
import sys
from dpsql.session import Session

with_noise = Session.open(sys.argv[1], sys.argv[2])
print("ready", flush=True)
for number in range(200):
    release = with_noise.answer(f"SELECT COUNT(*) FROM patients WHERE age > {number}.5")
    print(release.receipt.id, release.rows[0][0], flush=True)
"""


def policy_file(hospital: Database) -> Path:
    return hospital.policy.source_path.with_name("clinic.yaml")


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> str:
    """What it had written when it was killed."""
    os.kill(process.pid, signal.SIGKILL)
    written, _ = process.communicate()
    return written


def test_a_run_that_is_killed_before_its_answer_stays_charged(hospital: Database, tmp_path: Path) -> None:
    location = tmp_path / "clinic.ledger.db"
    process = start(HANGING, policy_file(hospital), location, SQL)
    assert line(process) == "measured"

    rest = kill(process)

    assert rest == ""
    with hospital.session(ledger=location) as session:
        spent = {state.account: 1 - state.rules["basic"] for state in session.budget()}
        assert spent["table:patients"] == pytest.approx(0.1 / 10)
        again = session.answer(SQL)
        assert not again.replayed
        spent = {state.account: 1 - state.rules["basic"] for state in session.budget()}
        assert spent["table:patients"] == pytest.approx(0.2 / 10)


@pytest.mark.parametrize("moment", [0.02, 0.11, 0.23])
def test_no_answer_leaves_without_a_durable_charge(hospital: Database, tmp_path: Path, moment: float) -> None:
    """The process is killed wherever it is; every answer that it wrote is in the ledger with its charge."""
    location = tmp_path / "clinic.ledger.db"
    process = start(ASKING, policy_file(hospital), location)
    assert line(process) == "ready"
    first = line(process)
    time.sleep(moment)

    written = [first, *kill(process).splitlines()]

    with hospital.session(ledger=location) as session:
        ledger = session._ledger
        entries = [numbered.entry for numbered in ledger.entries()]
        charged = {entry.receipt for entry in entries if isinstance(entry, Charged)}
        released = {entry.receipt: entry.answer for entry in entries if isinstance(entry, Released)}
        assert faults(ledger.verify()) == set()
        assert set(released) <= charged
        # The last line may be torn by the kill.
        for receipt, value in (text.split() for text in written[:-1] or [first]):
            assert receipt in charged
            assert f'"rows": [[{value}]]' in released[receipt]
