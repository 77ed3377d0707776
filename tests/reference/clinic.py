"""An invented hospital with the outliers that a proxy must not show; nothing here is about real people."""

from __future__ import annotations

import datetime
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from dpsql.analysis.facts import Facts
from dpsql.engine.duckdb import DuckDBBackend
from dpsql.engine.release import Relation
from dpsql.engine.rewrite import Program
from dpsql.ledger.receipt import Receipt
from dpsql.mechanisms import NoiseSource, Sampler
from dpsql.plan.plan import Plan
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.session import Session, Terms, open_ledger
from dpsql.sql.relation import Query

POLICY: Final = Path(__file__).with_name("clinic.yaml")

HOSPITALS: Final = [
    ("Alder", "Northton", 120),
    ("Birch", "Northton", 80),
    ("Cedar", "Southby", 200),
    ("Dogwood", "Westfold", 40),
    ("Elm", "Eastmere", 60),
]
DEPARTMENTS: Final = ["cardiology", "oncology", "emergency", "surgery", "pediatrics", "radiology"]
DIAGNOSES: Final = ["flu", "asthma", "diabetes", "fracture", "migraine", "hypertension"]
TABLES: Final = """
CREATE TABLE hospitals(hospital VARCHAR, city VARCHAR, beds INTEGER);
CREATE TABLE patients(
    patient_id INTEGER, hospital VARCHAR, sex VARCHAR, age INTEGER, diagnosis VARCHAR, cost DOUBLE);
CREATE TABLE visits(visit_id INTEGER, patient_id INTEGER, day DATE, department VARCHAR, charge DOUBLE);
"""

RARE_DIAGNOSIS: Final = "kuru"
HUGE_COST: Final = 9_000_000.0
SENTINELS: Final = (RARE_DIAGNOSIS, "9000000", "9e6", "9,000,000")
"""Values of single people: they may stand in no message and in no answer."""

Patient = tuple[int, str, str, int | None, str, float]
Visit = tuple[int, int | None, datetime.date, str, float]


def patient_rows(size: int = 400, seed: int = 7) -> tuple[list[Patient], list[Visit]]:
    """Patients and visits.

    Patient 1 alone has a rare diagnosis, and 150 visits; patient 2 has no age; patient 3 a huge cost.
    Every 97th visit has no patient.
    """
    draw = random.Random(seed)
    patients: list[Patient] = []
    visits: list[Visit] = []
    for patient in range(1, size + 1):
        diagnosis = draw.choice(DIAGNOSES)
        hospital = draw.choice(HOSPITALS)[0]
        sex = draw.choice(["F", "M", "X"]) if patient > 3 else "F"
        age = min(110, max(0, int(draw.gauss(50, 20)))) if patient != 2 else None
        cost = round(draw.lognormvariate(7, 1.2), 2) if patient != 3 else HUGE_COST
        patients.append((patient, hospital, sex, age, RARE_DIAGNOSIS if patient == 1 else diagnosis, cost))
        for _ in range(150 if patient == 1 else min(200, int(draw.expovariate(1 / 5)))):
            number = len(visits) + 1
            day = datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(366))
            charge = round(draw.lognormvariate(5, 1), 2)
            visits.append((number, patient if number % 97 else None, day, draw.choice(DEPARTMENTS), charge))
    return patients, visits


def build(path: Path, without: int | None = None) -> None:
    """Write the database; ``without`` leaves out one patient with every row of theirs."""
    patients, visits = patient_rows()
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES)
        insert(connection, "hospitals", HOSPITALS)
        insert(connection, "patients", [row for row in patients if row[0] != without])
        insert(connection, "visits", [row for row in visits if without is None or row[1] != without])


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert rows, a column at a time."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    places = ", ".join(f"unnest(${number})" for number in range(1, len(columns) + 1))
    connection.execute(f"INSERT INTO {table} SELECT {places}", columns)


class Shared:
    """A backend that outlives the sessions that use it."""

    def __init__(self, backend: DuckDBBackend) -> None:
        self._backend = backend

    @property
    def facts(self) -> Facts:
        return self._backend.facts

    def check(self, program: Program) -> None:
        self._backend.check(program)

    def measure(
        self, plan: Plan, program: Program, receipt: Receipt, cap_key: str, noise: NoiseSource
    ) -> Relation:
        return self._backend.measure(plan, program, receipt, cap_key, noise)

    def public(self, query: Query) -> tuple[Query, Relation]:
        return self._backend.public(query)

    def public_sql(self, query: Query) -> str:
        return self._backend.public_sql(query)

    def close(self) -> None:
        """Leave the database open for the next session."""


@dataclass(frozen=True)
class Database:
    """An open source under its policy, for many short sessions."""

    policy: Policy
    backend: DuckDBBackend

    @contextmanager
    def session(
        self,
        *,
        ledger: str | Path = ":memory:",
        analyst: str = "analyst",
        noise: NoiseSource | None = None,
    ) -> Iterator[Session]:
        """A session with a ledger of its own, so that nothing has been spent or answered before."""
        opened = open_ledger(self.policy, self.backend.facts.digest, ledger)
        made = Session(self.policy, opened, Shared(self.backend), analyst, noise or Sampler())
        with closing(made) as session:
            yield session


def priced(session: Session, sql: str, terms: Terms | None = None) -> Plan:
    """The plan of a query over people."""
    plan = session.explain(sql, (), terms)
    assert isinstance(plan, Plan)
    return plan


@contextmanager
def opened(policy: Path) -> Iterator[Database]:
    """The database of a policy file."""
    loaded = load(policy)
    with closing(DuckDBBackend(loaded)) as backend:
        yield Database(loaded, backend)


@contextmanager
def clinic(folder: Path, without: int | None = None) -> Iterator[Database]:
    """The clinic in a folder, as everybody knows it or without one patient."""
    shutil.copy(POLICY, folder / "clinic.yaml")
    build(folder / "clinic.duckdb", without)
    with opened(folder / "clinic.yaml") as database:
        yield database
