"""What did the owner promise?"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from dpsql.policy.budget import Budget, PerQuery
from dpsql.policy.declaration import Declaration
from dpsql.policy.digest import canonical_text, differences, digest_of
from dpsql.policy.lint import Unsound, lint
from dpsql.policy.notice import notices
from dpsql.policy.table import Bounds, ColumnPolicy, ColumnType, TablePolicy
from dpsql.policy.unit import PrivacyUnit, UnitPath, UnitStep

__all__ = [
    "Bounds",
    "Budget",
    "ColumnPolicy",
    "ColumnType",
    "PerQuery",
    "Policy",
    "PrivacyUnit",
    "TablePolicy",
    "UnitPath",
    "UnitStep",
]

FILE: Final = "file"
"""Key of the validation context under which `load` passes the path of the policy file."""


class Policy(Declaration):
    """A policy whose parts agree with each other. Invariant: `lint` finds nothing.

    Use `dpsql.policy.load` for a file. `Policy.model_validate` takes the same keys from a mapping whose
    numbers are int or Decimal; its paths are relative to the working directory.
    """

    _file: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _agrees(self, info: ValidationInfo) -> Self:
        breaches = lint(self)
        if breaches:
            raise Unsound(breaches)
        self._file = (info.context or {}).get(FILE)
        return self

    @property
    def file(self) -> Path | None:
        """The file the policy was read from, if it was."""
        return self._file

    @property
    def base(self) -> Path:
        """The folder that relative paths of the policy start from."""
        return Path.cwd() if self._file is None else self._file.resolve().parent

    @property
    def source_path(self) -> Path:
        """Where the data is, as an absolute path."""
        return (self.base / self.source).resolve()

    def ledger_location(self) -> str:
        """The path of the ledger: `ledger`, or `<policy name>.ledger.db` beside the policy."""
        if self.ledger is not None:
            return self.ledger if self.ledger == ":memory:" else str((self.base / self.ledger).resolve())
        stem = re.sub(r"[^\w.-]", "_", self.id) if self._file is None else self._file.stem
        return str(self.base / f"{stem}.ledger.db")

    def unit_of(self, table: TablePolicy | str) -> str | UnitPath:
        """The column that names the unit of a private table's rows, or the path to it.

        Raises:
            ValueError: the table is public or unknown.
        """
        found = self.table(table) if isinstance(table, str) else table
        unit = None if found is None else self.declared_unit(found)
        if unit is None:
            raise ValueError(f"no private table {table if isinstance(table, str) else table.name!r}")
        return unit

    def unit_path(self, table: TablePolicy | str) -> tuple[UnitStep, ...]:
        """The steps from a private table to the one that holds the unit's column; empty if its own does.

        Raises:
            ValueError: the table is public or unknown.
        """
        self.unit_of(table)
        found = self.table(table) if isinstance(table, str) else table
        steps = None if found is None else self.path_of(found)
        if steps is None:
            raise ValueError("the path to the unit is not in this policy")
        return steps

    def canonical(self) -> str:
        """Everything that sets privacy, as JSON that does not depend on layout, order or spelling of numbers.

        Left out: `source` and `ledger`, which say where things are, and `data_version`, which the owner
        raises with every load of data: the promise covers all versions, and a replay names its own.
        """
        return canonical_text(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `canonical()`, in hexadecimal."""
        return digest_of(self.canonical())

    def difference(self, other_canonical: str) -> tuple[str, ...]:
        """What changed from another policy's canonical text to this one, a line each."""
        return differences(other_canonical, self.canonical())

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should know although nothing is wrong."""
        return notices(self)
