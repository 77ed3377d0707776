"""Is what an account lost so far read right, and does it hold whenever one looks?"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dpsql.accounting import Gaussian, Threshold
from dpsql.accounting.conversion import eps_from_zcdp
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
    assert pure.milestone is None


def test_the_bound_is_an_anytime_bound_with_the_first_budgets_spread() -> None:
    first = spec(UNIT, "2")
    meter = Meter.start(first)
    for _ in range(50):
        meter = meter.step(gaussian())

    reading = meter.read()

    assert reading.loss == mixture(meter.odometer.rho, float(first.delta), meter.odometer.tau2)
    assert meter.odometer.tau2 == Meter.start(first).odometer.tau2
    assert reading.loss_delta == first.delta


def test_the_next_milestone_is_a_filter_that_was_fixed_before_the_first_charge() -> None:
    meter = Meter.start(spec(UNIT, "1", "1e-6", "0.1"))
    conversion = 9e-7
    seen = []
    while (ahead := meter.read().milestone) is not None:
        assert ahead.epsilon == eps_from_zcdp(ahead.rho, conversion)
        assert meter.odometer.rho <= ahead.rho
        seen.append(ahead.share)
        meter = meter.step(Gaussian(4e-4))

    assert sorted(set(seen)) == [0.05, 0.1, 0.25, 0.5, 0.75, 1.0]
    assert seen == sorted(seen)
    assert meter.milestones[-1].epsilon == pytest.approx(1.0)
    assert len(seen) == int(meter.milestones[-1].rho / (2e-4 * (1 + 1e-9))) + 1


def test_a_milestone_ends_with_the_slack_its_statement_allows_for() -> None:
    meter = Meter.start(spec(UNIT, "1", "1e-6", "0.1"))

    within = meter.step(Threshold(Decimal("1e-7")))
    beyond = within.step(Threshold(Decimal("1e-9")))

    assert within.read().milestone is not None
    assert beyond.read().milestone is None


def test_a_charge_to_an_account_that_was_never_opened_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
    with open_reader(path) as reader:
        charged = [each for each in reader.entries() if isinstance(each.entry, Charged)]

    with pytest.raises(LedgerError, match="never opened"):
        read_spending(charged)
