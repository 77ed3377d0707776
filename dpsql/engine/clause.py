"""What is one named step of the generated statement?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
    """One named step of the statement: `name AS [MATERIALIZED] (body)`."""

    name: str
    body: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name} AS {self.hint}{' ' if self.hint else ''}(\n{self.body}\n)"
