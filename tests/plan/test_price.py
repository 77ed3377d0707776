"""A query's price is stated, or the policy's default; never more than the policy's cap."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpsql import errors
from dpsql.plan.price import Price, price
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from tests.reference.clinic import POLICY


@pytest.fixture
def policy() -> Policy:
    return load(POLICY)


@pytest.fixture
def silent(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy without a default price."""
    file = tmp_path_factory.mktemp("silent") / "clinic.yaml"
    lines = POLICY.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("per_query")), encoding="utf-8")
    return load(file)


def test_the_default_is_the_policys(policy: Policy) -> None:
    assert price(policy) == Price(Decimal("0.1"), Decimal("1.0e-8"))


def test_what_is_stated_stands(policy: Policy) -> None:
    assert price(policy, Decimal("0.5")) == Price(Decimal("0.5"), Decimal("1.0e-8"))
    assert price(policy, None, Decimal(0)) == Price(Decimal("0.1"), Decimal(0))
    assert price(policy, Decimal(1)).epsilon == 1


def test_the_cap_is_the_policys(policy: Policy, silent: Policy) -> None:
    with pytest.raises(errors.PolicyRefused) as refusal:
        price(policy, Decimal("1.0001"))

    assert refusal.value.code is errors.OVER_CAP
    assert price(silent, Decimal(50)).epsilon == 50


def test_without_a_default_a_query_states_its_price(silent: Policy) -> None:
    with pytest.raises(errors.PolicyRefused) as refusal:
        price(silent)

    assert refusal.value.code is errors.UNDECLARED
    assert price(silent, Decimal(1)) == Price(Decimal(1), Decimal(0))
