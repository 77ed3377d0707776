from __future__ import annotations

import hashlib

import pytest

from dpsql.ledger.chain import GENESIS, Anchor, link

PARTS = ("a" * 64, 7, "2026-01-01T00:00Z", b"{}")


def test_a_link_is_the_hash_of_the_documented_bytes() -> None:
    expected = hashlib.sha256(b"a" * 64 + b" 7 2 2026-01-01T00:00Z\n{}").hexdigest()

    assert link(*PARTS) == expected


def test_a_link_covers_the_hash_before_the_place_the_time_and_the_bytes() -> None:
    previous, sequence, time, body = PARTS
    links = {
        link(*PARTS),
        link("b" * 64, sequence, time, body),
        link(previous, 8, time, body),
        link(previous, sequence, "2026-01-01T00:01Z", body),
        link(previous, sequence, time, b"[]"),
        link(GENESIS, sequence, time, body),
    }

    assert len(links) == 6


def test_bytes_cannot_move_between_the_time_and_the_body() -> None:
    assert link("a" * 64, 1, "t", b"\nx") != link("a" * 64, 1, "t\n", b"x")


def test_an_anchor_survives_its_text() -> None:
    anchor = Anchor(12, "f" * 64)

    assert Anchor.parse(f" {anchor}\n") == anchor


@pytest.mark.parametrize("text", ["", "12", "0:" + "f" * 64, "12:abc", "x:" + "f" * 64, "1:" + "F" * 64])
def test_another_text_is_no_anchor(text: str) -> None:
    with pytest.raises(ValueError, match="anchor"):
        Anchor.parse(text)
