"""Which value is meant by a parameter on the command line?"""

from __future__ import annotations

import datetime
import re
from typing import Final

_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_QUOTES: Final = ("'", '"')


def read_parameter(text: str) -> bool | int | float | str | datetime.date | None:
    """The value of a text: a number, a date, true, false, null, or the text itself.

    Quotes around it make it a text whatever it looks like.

    >>> [read_parameter(text) for text in ("42", "'42'", "2024-02-30", "null")]
    [42, '42', '2024-02-30', None]
    """
    if len(text) >= 2 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return _date(text) if _DATE.fullmatch(text) else text


def _date(text: str) -> datetime.date | str:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return text
