"""What does the invented clinic of the demo hold, and how is it built again?

Nothing here is about real people. The rows come from a seeded generator, so every build holds the same rows.
The awkward parts are there on purpose: patients with far more visits than a policy allows, unknown ages,
visits nobody owns, one absurd bill, in a visit and in its patient's cost, and one diagnosis that only one
patient has.

Run as a script: `python sample_data/make_clinic.py [PATH]`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

DEFAULT_PATH: Final = Path(__file__).with_name("clinic.duckdb")
PATIENTS: Final = 3_000
SEED: Final = 20_240_101
FIRST_DAY: Final = dt.date(2024, 1, 1)
DAYS: Final = 366  # 2024 is a leap year

# hospital, city, beds: a larger hospital gets more patients
HOSPITALS: Final = (
    ("Alder", "Northton", 120),
    ("Birch", "Northton", 80),
    ("Cedar", "Southby", 200),
    ("Dogwood", "Westfold", 40),
    ("Elm", "Eastmere", 60),
)
DEPARTMENTS: Final = ("cardiology", "oncology", "emergency", "surgery", "pediatrics", "radiology")

REGULAR_WITH_RARE_DIAGNOSIS: Final = 1
REGULARS: Final = {
    1: 164,
    17: 61,
    402: 43,
    1_733: 38,
    2_560: 27,
}  # patient -> visits, all above a bound of 20
ABSURD_BILL_OF: Final = 3
ABSURD_BILL: Final = 9_000_000.0
RARE_DIAGNOSIS: Final = "kuru"
SHARE_OF_UNKNOWN_AGES: Final = 0.02
SHARE_OF_UNOWNED_VISITS: Final = 0.01

SCHEMA: Final = """
CREATE TABLE hospitals (hospital VARCHAR PRIMARY KEY, city VARCHAR NOT NULL, beds INTEGER NOT NULL);
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY, hospital VARCHAR NOT NULL, sex VARCHAR NOT NULL,
    age INTEGER, diagnosis VARCHAR NOT NULL, cost DOUBLE NOT NULL
);
CREATE TABLE visits (
    visit_id INTEGER PRIMARY KEY, patient_id INTEGER, day DATE NOT NULL,
    department VARCHAR NOT NULL, charge DOUBLE NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Illness:
    """One diagnosis: whom it meets, where it is treated, what a year of it costs."""

    name: str
    weight: float
    age: tuple[float, float]  # mean and deviation, in years
    department: str
    log_cost: float  # mean of the logarithm of the yearly cost
    visits: float  # mean number of visits in the year


ILLNESSES: Final = (
    Illness("flu", 0.26, (38.0, 24.0), "emergency", 5.6, 1.6),
    Illness("asthma", 0.16, (31.0, 20.0), "emergency", 6.6, 3.4),
    Illness("diabetes", 0.15, (61.0, 13.0), "cardiology", 7.9, 6.2),
    Illness("fracture", 0.17, (44.0, 25.0), "surgery", 7.6, 3.0),
    Illness("migraine", 0.12, (40.0, 14.0), "radiology", 6.3, 2.6),
    Illness("hypertension", 0.14, (63.0, 12.0), "cardiology", 7.2, 4.4),
)


@dataclass(frozen=True, slots=True)
class Patient:
    """One row of `patients`; fields in the order of the table's columns."""

    patient_id: int
    hospital: str
    sex: str
    age: int | None
    diagnosis: str
    cost: float


@dataclass(frozen=True, slots=True)
class Visit:
    """One row of `visits`; fields in the order of the table's columns."""

    visit_id: int
    patient_id: int | None
    day: dt.date
    department: str
    charge: float


def people(count: int = PATIENTS, seed: int = SEED) -> tuple[list[Patient], list[Visit]]:
    """Draw the clinic's rows.

    Args:
        count: number of patients; at least 3, so that the odd ones exist.
        seed: the same seed gives the same rows.

    Returns:
        The patients in order of their id, and the visits in order of theirs.
    """
    rng = random.Random(seed)
    patients: list[Patient] = []
    visits: list[Visit] = []
    for patient_id in range(1, count + 1):
        illness = rng.choices(ILLNESSES, weights=[each.weight for each in ILLNESSES])[0]
        patient = _patient(rng, patient_id, illness)
        patients.append(patient)
        visits.extend(_visits(rng, patient, illness, first_id=len(visits) + 1))
    return patients, visits


def _patient(rng: random.Random, patient_id: int, illness: Illness) -> Patient:
    hospital = rng.choices(HOSPITALS, weights=[beds for _, _, beds in HOSPITALS])[0][0]
    sex = rng.choices(("F", "M", "X"), weights=(0.51, 0.47, 0.02))[0]
    age = min(110, max(0, round(rng.gauss(*illness.age))))
    age_is_known = rng.random() >= SHARE_OF_UNKNOWN_AGES
    cost = round(rng.lognormvariate(illness.log_cost, 0.8), 2)
    return Patient(
        patient_id=patient_id,
        hospital=hospital,
        sex=sex,
        age=age if age_is_known else None,
        diagnosis=RARE_DIAGNOSIS if patient_id == REGULAR_WITH_RARE_DIAGNOSIS else illness.name,
        cost=ABSURD_BILL if patient_id == ABSURD_BILL_OF else cost,
    )


def _visits(rng: random.Random, patient: Patient, illness: Illness, first_id: int) -> Iterator[Visit]:
    drawn = int(rng.expovariate(1 / illness.visits))
    is_child = patient.age is not None and patient.age < 16
    home = "pediatrics" if is_child else illness.department
    elsewhere = rng.choice(DEPARTMENTS)
    for offset in range(REGULARS.get(patient.patient_id, drawn)):
        is_owned = rng.random() >= SHARE_OF_UNOWNED_VISITS
        is_absurd = patient.patient_id == ABSURD_BILL_OF and offset == 0
        charge = round(rng.lognormvariate(5.0, 0.9), 2)
        yield Visit(
            visit_id=first_id + offset,
            patient_id=patient.patient_id if is_owned else None,
            day=FIRST_DAY + dt.timedelta(days=rng.randrange(DAYS)),
            department=_department(rng, home, elsewhere),
            charge=ABSURD_BILL if is_absurd else charge,
        )


def _department(rng: random.Random, home: str, elsewhere: str) -> str:
    # Most visits go to one or two departments; the rest make a cap on departments per patient do some work.
    draw = rng.random()
    if draw < 0.70:
        return home
    if draw < 0.92:
        return elsewhere
    return rng.choice(DEPARTMENTS)


def build(path: Path | str = DEFAULT_PATH) -> Path:
    """Write the clinic to a DuckDB file, in place of one that is there.

    Args:
        path: where the database goes; its folder exists.

    Returns:
        The path written.
    """
    target = Path(path)
    unfinished = target.with_name(target.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    patients, visits = people()
    with duckdb.connect(str(unfinished)) as connection:
        connection.execute(SCHEMA)
        _insert(connection, "hospitals", HOSPITALS)
        _insert(connection, "patients", [_values(patient) for patient in patients])
        _insert(connection, "visits", [_values(visit) for visit in visits])
    # The rename comes last, so that an interrupted build never looks like a finished one.
    return unfinished.replace(target)


def _values(row: Patient | Visit) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in type(row).__slots__)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    # One statement with a list per column: a hundred times quicker than one statement per row.
    lists = ", ".join("unnest(?)" for _ in columns)
    connection.execute(f"INSERT INTO {table} SELECT {lists}", columns)


def main() -> None:
    """Build the clinic where the command line says."""
    parser = argparse.ArgumentParser(description="Build the invented clinic as a DuckDB file.")
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT_PATH)
    print(f"wrote {build(parser.parse_args().path)}")


if __name__ == "__main__":
    main()
