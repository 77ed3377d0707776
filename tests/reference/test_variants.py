"""Cases about the policy: what it leaves out, or holds that looks like SQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.policy.load import load
from dpsql.session import Session, Terms
from tests.reference.clinic import POLICY, RARE_DIAGNOSIS, Database, build


def changed(folder: Path, old: str, new: str) -> Path:
    """The clinic's policy with one change, beside the clinic's database."""
    text = POLICY.read_text(encoding="utf-8")
    assert old in text
    (folder / "clinic.yaml").write_text(text.replace(old, new), encoding="utf-8")
    build(folder / "clinic.duckdb")
    return folder / "clinic.yaml"


def test_a_diagnosis_of_one_patient_is_never_shown(hospital: Database) -> None:
    shown: set[object] = set()
    for _ in range(30):
        with hospital.session() as session:
            sql = "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis"
            shown |= {key for key, _ in session.answer(sql, (), Terms(Decimal(1))).rows}

    assert len(shown) == 6
    assert RARE_DIAGNOSIS not in shown


def test_a_column_without_bounds_is_not_summed(tmp_path: Path) -> None:
    """opendp/smartnoise-sdk issue 317: its sum went out without noise."""
    policy = changed(
        tmp_path, "charge: {type: double, bounds: [0, 5000], step: 0.01}", "charge: {type: double}"
    )
    session = Session.open(policy, ":memory:")

    with pytest.raises(errors.PolicyRefused) as refusal:
        session.answer("SELECT SUM(charge) FROM visits")

    assert refusal.value.code is errors.NEEDS_BOUNDS
    assert session.answer("SELECT COUNT(*) FROM visits WHERE charge > 100").charges
    session.close()


def test_bounds_that_leave_no_room_for_noise_are_no_policy(tmp_path: Path) -> None:
    """opendp/smartnoise-sdk issue 128: sensitivity 0, so no noise at all."""
    policy = changed(tmp_path, "bounds: [0, 5000]", "bounds: [0, 0]")

    with pytest.raises((errors.PolicyError, errors.NotSupportedError)):
        Session.open(policy, ":memory:").answer("SELECT SUM(charge) FROM visits")


def test_a_unit_that_is_a_double_is_no_policy(tmp_path: Path) -> None:
    """NaN is unequal to itself and 0.1 + 0.2 to 0.3: one person would count as several."""
    policy = changed(tmp_path, "patient_id: {type: integer}", "patient_id: {type: double}")

    with pytest.raises(errors.PolicyError):
        load(policy)


def test_a_domain_that_looks_like_sql_is_data(tmp_path: Path) -> None:
    value = "M'); DROP TABLE patients; --"
    policy = changed(tmp_path, "domain: [F, M, X]", f'domain: [F, "{value}"]')
    session = Session.open(policy, ":memory:")

    rows = session.answer("SELECT sex, COUNT(*) FROM patients GROUP BY sex").rows

    assert [key for key, _ in rows] == ["F", value]
    assert session.answer("SELECT COUNT(*) FROM patients").rows
    session.close()
