"""How is a decimal number written for people?"""

from __future__ import annotations

from decimal import Decimal


def number(value: Decimal) -> str:
    """A decimal as people write it: 20 or 0.1, and 1e-9 for what is tiny.

    >>> [number(Decimal(text)) for text in ("2E+1", "0.10", "1.0E-9")]
    ['20', '0.1', '1e-9']
    """
    if value == 0:
        return "0"
    if abs(value) >= Decimal("0.0001"):
        return f"{value.normalize():f}"
    mantissa, _, exponent = f"{value.normalize():e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
