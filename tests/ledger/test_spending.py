"""Is what an account lost so far read right, and does it hold whenever one looks?"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dpsql.accounting.odometers import mixture
from dpsql.errors import LedgerError
from dpsql.ledger import Charged, Spending, open_reader
from dpsql.ledger.spending import Meter, read_spending
from tests.ledger.clinic import ALICE, UNIT, VISITS, Clinic, answer, gaussian, laplace, spec


def _spent(path: Path) -> dict[str, Spending]:
    with open_reader(path) as reader:
        return reader.spending()


def test_nothing_is_said_of_an_account_without_a_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Clinic().open(path).close()

    assert _spent(path) == {}


def test_pure_charges_add_up_exactly_in_every_account_they_touch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        for _ in range(3):
            answer(ledger, event=laplace("0.1"))

    found = _spent(path)

    assert set(found) == {UNIT, VISITS, ALICE}
    assert (found[UNIT].charges, found[UNIT].epsilon, found[UNIT].delta) == (3, Decimal("0.3"), Decimal(0))
    assert found[UNIT].loss == pytest.approx(0.3)


def test_a_gaussian_ends_the_sum_of_epsilons_and_not_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger, event=laplace("0.1"))
        answer(ledger, event=gaussian())

    unit = _spent(path)[UNIT]

    assert unit.epsilon is None
    assert unit.loss is not None
    assert unit.loss > 0.1


def test_the_bound_of_an_account_without_delta_is_the_sum_or_nothing() -> None:
    meter = Meter.start(spec(UNIT, "2", "0", "0"))

    pure = meter.step(laplace("0.1")).read()
    noisy = meter.step(laplace("0.1")).step(gaussian()).read()

    assert pure.loss == pytest.approx(0.1)
    assert pure.loss_delta == 0
    assert noisy.loss is None


def test_the_bound_is_an_anytime_bound_with_the_first_budgets_spread() -> None:
    first = spec(UNIT, "2")
    meter = Meter.start(first)
    for _ in range(50):
        meter = meter.step(gaussian())

    reading = meter.read()

    assert reading.loss == mixture(meter.odometer.rho, float(first.delta), meter.odometer.tau2)
    assert meter.odometer.tau2 == Meter.start(first).odometer.tau2
    assert reading.loss_delta == first.delta


def test_a_charge_to_an_account_that_was_never_opened_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
    with open_reader(path) as reader:
        charged = [each for each in reader.entries() if isinstance(each.entry, Charged)]

    with pytest.raises(LedgerError, match="never opened"):
        read_spending(charged)
