"""Does the auditor tell honest states from forged ones, and do states survive storage?"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import (
    Composed,
    Event,
    Gaussian,
    Portfolio,
    Pure,
    Threshold,
    check_open,
    check_step,
)
from dpsql.accounting.filters import Additive, Basic, Renyi, Residue, Slack
from dpsql.accounting.filters.library import open_residue
from tests.accounting.strategies import BUDGETS, EVENTS, SHARES

ONE = Decimal(1)
MILLIONTH = Decimal("1e-6")
TENTH = Decimal("0.1")


def _after(account: Portfolio, event: Event) -> Portfolio:
    after = account.step(event)
    assert after is not None
    return after


def test_the_auditor_accepts_a_fresh_account_and_rejects_a_richer_one() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    basic, residue, rdp = account.live
    assert isinstance(residue, Residue)
    assert isinstance(rdp, Additive)

    richer = [
        replace(account, live=(Basic(ONE * 2, ONE * 2), residue, rdp)),
        replace(account, live=(basic, Residue(residue.budget * 1.001, residue.budget * 1.001), rdp)),
        replace(account, live=(basic, residue, replace(rdp, budget=rdp.budget * 1.001, rest=rdp.rest))),
        replace(account, live=(basic, residue, replace(rdp, name="zcdp"))),
        replace(account, live=(basic, residue, replace(rdp, currency=Renyi(0.5)))),
        replace(account, slack=Slack(MILLIONTH, MILLIONTH)),
        replace(account, live=()),
        open_residue(ONE, MILLIONTH, slack_share=TENTH),
    ]

    assert check_open(account)
    assert check_open(Portfolio.open(ONE, Decimal(0)))
    assert not any(check_open(other) for other in richer)


def test_the_auditor_rejects_a_step_that_took_too_little() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    event = Composed((Pure(Decimal("0.05")), Threshold(Decimal("1e-9"))))
    after = _after(account, event)
    basic, residue, rdp = after.live
    assert isinstance(basic, Basic)
    assert isinstance(residue, Residue)
    assert isinstance(rdp, Additive)

    forged = [
        replace(after, live=(replace(basic, rest=basic.rest + MILLIONTH), residue, rdp)),
        replace(after, live=(basic, replace(residue, rest=residue.rest + 1e-6), rdp)),
        replace(after, live=(basic, residue, replace(rdp, rest=rdp.rest + 1e-6))),
        replace(after, live=(basic, replace(residue, budget=2.0 * residue.budget), rdp)),
        replace(after, live=(basic, residue, replace(rdp, budget=2.0 * rdp.budget))),
        replace(after, slack=account.slack),
        replace(after, live=()),
        replace(after, epsilon=Decimal(2)),
        account,
    ]

    assert check_step(account, event, after)
    assert not any(check_step(account, event, other) for other in forged)


def test_the_auditor_rejects_a_resurrected_rule() -> None:
    fresh = Portfolio.open(ONE, MILLIONTH)
    dead = _after(fresh, Gaussian(1e-6))
    event = Pure(TENTH)
    after = _after(dead, event)

    resurrected = replace(after, live=(Basic(ONE, Decimal("0.9")), *after.live))

    assert check_step(dead, event, after)
    assert not check_step(dead, event, resurrected)


def test_the_auditor_rejects_a_renamed_or_reordered_currency() -> None:
    account = Portfolio.open(ONE, MILLIONTH)
    event = Gaussian(1e-3)
    after = _after(account, event)
    residue, rdp = after.live
    assert isinstance(rdp, Additive)

    forged = replace(after, live=(residue, replace(rdp, currency=Renyi(2.0))))

    assert not check_step(account, event, forged)


# stored forms


@given(BUDGETS, SHARES, st.lists(EVENTS, max_size=8))
def test_an_account_survives_its_stored_form(
    budget: tuple[Decimal, Decimal], share: Decimal, events: list[Event]
) -> None:
    account = Portfolio.open(*budget, slack_share=share)
    for event in events:
        account = account.step(event) or account

    stored = json.dumps(account.to_dict(), sort_keys=True)

    assert Portfolio.from_dict(json.loads(stored)) == account


@pytest.mark.parametrize("rest", [nan, -1.0, inf])
def test_a_state_no_history_leads_to_is_refused(rest: float) -> None:
    with pytest.raises(ValueError, match="rest"):
        Residue(1.0, rest)
    with pytest.raises(ValueError, match="rest"):
        Additive("rdp", Renyi(2.0), 1.0, rest)
    with pytest.raises(ValueError, match="rest"):
        Basic(ONE, Decimal(rest))


@pytest.mark.parametrize(
    "edit",
    [
        {"format": 2},
        {"live": []},
        {"live": None},
        {"live": [1]},
        {"live": [{"rule": "gift"}]},
        {"live": [{"rule": "basic", "budget": "1", "rest": "2"}]},
        {"live": [{"rule": "basic", "budget": "1"}]},
        {"live": [{"rule": "basic", "budget": "1", "rest": "1"}] * 2},
        {"live": [{"rule": "residue", "budget": "0x1p-4", "rest": "nan"}]},
        {"live": [{"rule": "renyi", "name": 1, "alpha": "0x1p+1", "budget": "0x1p+0", "rest": "0x1p+0"}]},
        {"slack": None},
        {"slack": {"budget": "0", "rest": "NaN"}},
        {"epsilon": "0"},
        {"epsilon": 1.0},
    ],
)
def test_an_edited_account_is_refused(edit: dict[str, object]) -> None:
    form = Portfolio.open(ONE, MILLIONTH).to_dict()

    with pytest.raises(ValueError, match=r"\w"):
        Portfolio.from_dict({**form, **edit})
