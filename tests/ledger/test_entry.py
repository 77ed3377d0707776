from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dpsql.accounting.filters import Portfolio
from dpsql.ledger.entry import (
    Account,
    AccountSpec,
    Charged,
    Debit,
    Entry,
    Failed,
    Opened,
    PolicyChanged,
    Released,
    Unlocked,
    canonical,
    parse,
)
from tests.ledger.clinic import charges, gaussian, laplace, spec, thresholded


def account(budget: AccountSpec) -> Account:
    return Account(budget, Portfolio.open(budget.epsilon, budget.delta, slack_share=budget.slack_share))


def charged() -> Charged:
    before = Portfolio.open(Decimal(1), Decimal("1e-6"), slack_share=Decimal("0.1"))
    debits = []
    for event in (laplace("0.1"), gaussian(), thresholded("0.05")):
        after = before.step(event)
        assert after is not None
        debits.append(Debit(charges(event, "unit:patient")[0], after))
    return Charged("r", "alice", "SELECT 'é'", "digest", 3, "0" * 64, "replay", None, tuple(debits))


ENTRIES: tuple[Entry, ...] = (
    Opened("clinic", "digest", "text", "facts", (account(spec("unit:patient", "2.50")),), "key"),
    charged(),
    Released("r", '{"rows":[[1.5,null]]}'),
    Failed("r"),
    PolicyChanged("digest", "text", "facts", (Account(spec("table:visits", "1"), None),)),
    Unlocked("alice"),
)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_an_entry_survives_its_canonical_bytes(entry: Entry) -> None:
    assert parse(canonical(entry)) == entry


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_canonical_bytes_are_sorted_ascii_without_floats(entry: Entry) -> None:
    def refuse_float(text: str) -> float:
        raise AssertionError(text)

    body = canonical(entry)

    decoded = json.loads(body, parse_float=refuse_float)
    assert body == json.dumps(decoded, sort_keys=True, separators=(",", ":")).encode("ascii")


def test_equal_budgets_have_equal_bytes_however_they_are_written() -> None:
    written, rewritten = spec("unit:patient", "20"), spec("unit:patient", "2.0E+1")

    assert canonical(Opened("c", "d", "t", "f", (account(written),), "k")) == canonical(
        Opened("c", "d", "t", "f", (account(rewritten),), "k")
    )


@pytest.mark.parametrize(
    ("entry", "body"),
    [
        (Failed("r1"), b'{"format":1,"kind":"failed","receipt":"r1"}'),
        (Released("r1", "{}"), b'{"answer":"{}","format":1,"kind":"released","receipt":"r1"}'),
        (Unlocked("al\xefce"), b'{"analyst":"al\\u00efce","format":1,"kind":"unlocked"}'),
        (
            PolicyChanged("d", "t", "f", (Account(spec("table:visits", "1", "0", "0"), None),)),
            b'{"accounts":[{"account":"table:visits","delta":"0","epsilon":"1","slack_share":"0","state":null}],'
            b'"facts_digest":"f","format":1,"kind":"policy_changed","policy_digest":"d","policy_text":"t"}',
        ),
    ],
)
def test_the_format_of_version_1_stays_what_it_is(entry: Entry, body: bytes) -> None:
    assert canonical(entry) == body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b'{"format":2,"kind":"failed","receipt":"r1"}',
        b'{"format":1,"kind":"refunded","receipt":"r1"}',
        b'{"format":1,"kind":"failed"}',
        b'{"format":1,"kind":"failed","receipt":1}',
        b'{"kind":"failed","format":1,"receipt":"r1"}',
        b'{"format":1,"kind":"failed","receipt":"r1","refund":true}',
        b'{"format":1,"kind":"failed","receipt":"r1"} ',
        b'{"format":1,"kind":"failed","receipt":"\\u0072"}',
    ],
)
def test_bytes_of_another_form_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"entry|decode|Expecting"):
        parse(body)


def test_an_event_that_accounting_refuses_is_no_entry() -> None:
    body = canonical(charged()).replace(b'"epsilon":"0.1"', b'"epsilon":"-0.1"')

    with pytest.raises(ValueError, match="epsilon"):
        parse(body)
