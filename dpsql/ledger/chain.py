"""Is this entry where it was written? A hash chain over the entries' canonical bytes.

Each hash covers the entry, its place, its time and the hash before it, so an edited, removed, inserted or
moved entry breaks every hash after it. Somebody who can write the file can compute a new chain: only a head
kept outside the file (an `Anchor`) shows that, and shows a restored backup.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

GENESIS: Final = hashlib.sha256(b"dpsql ledger").hexdigest()
_ANCHOR: Final = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The number and the hash of a ledger's last entry, to be kept outside of its file."""

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Reads "<sequence>:<hash>".

        Raises:
            ValueError: when the text has another form.
        """
        found = _ANCHOR.fullmatch(text.strip())
        if found is None:
            raise ValueError("An anchor has the form <sequence>:<64 hexadecimal digits>.")
        return cls(int(found[1]), found[2])


def link(previous: str, sequence: int, time: str, body: bytes) -> str:
    """The hash of an entry: SHA-256 over the hash before it, its number, its time and its canonical bytes."""
    # The body's length in the header keeps time and body apart, whatever they hold.
    header = f"{previous} {sequence} {len(body)} {time}\n"
    return hashlib.sha256(header.encode() + body).hexdigest()
