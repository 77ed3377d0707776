"""What can go wrong, and who can put it right.

One tree, rooted at PEP 249's ``Error``. Each class names a remedy (who can act), each code a fault that
docs/errors.md explains. Messages hold facts of the policy, the query and the ledger; never a row's value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final

from dpsql.spelling import number


class Remedy(Enum):
    """Who can put a fault right."""

    ANALYST = "the analyst changes the query"
    OWNER = "the data owner changes the policy"
    OPERATOR = "the operator looks at the log or the disk"
    PROGRAM = "the calling program is changed"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text; both numbers count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a policy file; line and column count from 1."""

    message: str
    file: str
    line: int
    column: int
    source_line: str
    suggestion: str | None = None

    def __str__(self) -> str:
        hint = f" {self.suggestion}" if self.suggestion else ""
        # Tabs are repeated so that the caret stands under the fault however wide a tab is shown.
        indent = "".join("\t" if char == "\t" else " " for char in self.source_line[: self.column - 1])
        head = f"{self.file}:{self.line}:{self.column}: {self.message}"
        return f"{head}\n    {self.source_line}\n    {indent}^{hint}"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable error code: its meaning never changes, its wording may."""

    name: str
    title: str
    meaning: str
    remedy: Remedy

    def __str__(self) -> str:
        return self.name


CODES: Final[dict[str, Code]] = {}


def _code(name: str, title: str, meaning: str, remedy: Remedy) -> Code:
    code = Code(name, title, meaning, remedy)
    CODES[name] = code
    return code


# DP1xx: the text is not a query we can read (ProgrammingError)
SYNTAX = _code("DP100", "not SQL", "The text does not parse as one SQL statement.", Remedy.ANALYST)
UNKNOWN_TABLE = _code("DP101", "unknown table", "The policy lists no table of that name.", Remedy.ANALYST)
UNKNOWN_COLUMN = _code(
    "DP102",
    "unknown column",
    "The policy lists no column of that name in the tables of the query.",
    Remedy.ANALYST,
)
PARAMETERS = _code(
    "DP103",
    "wrong parameters",
    "The number or the type of the parameters does not fit the query.",
    Remedy.ANALYST,
)
TYPE_MISMATCH = _code(
    "DP104", "types do not fit", "An operator or function got a type it is not defined for.", Remedy.ANALYST
)
AMBIGUOUS = _code(
    "DP105", "ambiguous name", "More than one table of the query has a column of that name.", Remedy.ANALYST
)
GROUPING = _code(
    "DP106",
    "neither grouped nor aggregated",
    "A selected column is neither a group key nor inside an aggregate.",
    Remedy.ANALYST,
)
TOO_LARGE = _code(
    "DP107",
    "query too large",
    "The text, its nesting or its number of parts is over the limit.",
    Remedy.ANALYST,
)

# DP2xx: a query we can read and will not answer
NOT_A_QUERY = _code("DP200", "not a query", "Only a single SELECT statement is answered.", Remedy.ANALYST)
UNSUPPORTED = _code(
    "DP201",
    "construct not supported",
    "The construct is not on the list of what dpsql has proven safe.",
    Remedy.ANALYST,
)
NEEDS_BOUNDS = _code(
    "DP202", "needs clipping bounds", "A value can only be summed between public bounds.", Remedy.OWNER
)
RAW_ROWS = _code(
    "DP203",
    "rows of people",
    "The query would return rows or values of single people instead of aggregates.",
    Remedy.ANALYST,
)
UNIT_KEY = _code("DP204", "grouped by the privacy unit", "Each group would be one person.", Remedy.ANALYST)
UNSAFE_FUNCTION = _code(
    "DP205",
    "function not allowed",
    "The function is not on the list of functions with a total, private meaning.",
    Remedy.ANALYST,
)
PRIVATE_KEYS_NEED_DELTA = _code(
    "DP206",
    "private keys need a delta",
    "Groups whose keys are not public are shown above a threshold, and that needs delta > 0.",
    Remedy.ANALYST,
)
UNSUITABLE_KEY = _code(
    "DP207",
    "cannot group by this",
    "The key has a type or a number of values that groups cannot have.",
    Remedy.ANALYST,
)
UNBOUNDED = _code(
    "DP208",
    "range not bounded",
    "The range of a summed expression cannot be bounded, as in a division by a range that holds 0.",
    Remedy.ANALYST,
)
UNDECLARED = _code(
    "DP209",
    "price not stated",
    "The query needs an epsilon: the policy has no `per_query` default.",
    Remedy.ANALYST,
)
OVER_CAP = _code("DP210", "epsilon over the cap", "The policy caps what one query may cost.", Remedy.ANALYST)
ANALYST_UNKNOWN = _code(
    "DP211",
    "analyst not listed",
    "The policy lists its analysts and this name is not among them.",
    Remedy.OWNER,
)
ANALYST_LOCKED = _code(
    "DP212",
    "analyst locked",
    "After five failed runs an analyst is refused until the owner unlocks the name.",
    Remedy.OWNER,
)
PRIVATE_JOIN = _code(
    "DP213", "join between tables of people", "A join of two private tables is not supported.", Remedy.ANALYST
)
SUBQUERY = _code(
    "DP214",
    "sub-query over people",
    "A sub-query over a private table is not supported here.",
    Remedy.ANALYST,
)
UNSAFE_NUMBER = _code(
    "DP215",
    "parameter out of range",
    "An epsilon, delta or error outside the range that dpsql accounts for.",
    Remedy.ANALYST,
)

# DP3xx: the budget
BUDGET_EXCEEDED = _code(
    "DP300", "budget exceeded", "No rule of the account's privacy filter admits the query.", Remedy.ANALYST
)

# DP4xx: the policy
POLICY_FILE = _code(
    "DP400", "policy not readable", "The policy file is missing, unreadable or not YAML 1.2.", Remedy.OWNER
)
POLICY_INVALID = _code(
    "DP401", "policy invalid", "The policy breaks its schema or its own rules.", Remedy.OWNER
)
POLICY_CHANGED = _code(
    "DP402", "policy changed", "The policy differs from the one the ledger was opened with.", Remedy.OWNER
)
POLICY_DATA = _code(
    "DP403",
    "policy and data differ",
    "A table or a column of the policy is missing in the source, or has another type.",
    Remedy.OWNER,
)

# DP5xx: the engine
ENGINE_FAILURE = _code(
    "DP500",
    "the run failed",
    "The run failed after it was charged; the charge stays. Details are in the operator's log.",
    Remedy.OPERATOR,
)
SOURCE = _code(
    "DP501", "source not readable", "The database of the policy cannot be opened.", Remedy.OPERATOR
)

# DP6xx: the ledger
LEDGER_BROKEN = _code(
    "DP600", "ledger does not verify", "The ledger's chain or its sums do not hold.", Remedy.OPERATOR
)
LEDGER_STORE = _code(
    "DP601", "ledger not writable", "The ledger cannot be opened, locked or written.", Remedy.OPERATOR
)
LEDGER_FOREIGN = _code(
    "DP602", "ledger of another policy", "A ledger belongs to one policy id.", Remedy.OPERATOR
)
IDEMPOTENCY = _code(
    "DP603",
    "key used for another query",
    "An idempotency key is bound to the analyst and the query it was first used with.",
    Remedy.PROGRAM,
)
RECEIPT = _code(
    "DP604",
    "receipt not valid",
    "A receipt is given by the ledger and pays for one run.",
    Remedy.PROGRAM,
)
NO_ACCOUNT = _code(
    "DP605",
    "no such account",
    "A charge names an account that the ledger does not hold, or leaves out the privacy unit's.",
    Remedy.PROGRAM,
)

# DP7xx: dpsql itself
REWRITE = _code(
    "DP700",
    "rewritten query does not bind",
    "A fault of dpsql: the generated SQL was refused before the charge.",
    Remedy.PROGRAM,
)

# DP9xx: the interface
CLOSED = _code("DP900", "closed", "The connection or the cursor is closed.", Remedy.PROGRAM)
NO_RESULT = _code("DP901", "nothing to fetch", "No query has been executed on this cursor.", Remedy.PROGRAM)


EXTRA = _code(
    "DP902", "optional package missing", "The feature needs a package that is not installed.", Remedy.PROGRAM
)
USAGE = _code("DP903", "wrong use", "The call's arguments do not go together.", Remedy.PROGRAM)


class Warning(Exception):
    """PEP 249's warning; dpsql raises none."""


class Error(Exception):
    """Root of everything dpsql raises on purpose.

    Attributes: ``code`` (`Code`), ``message``, ``hint`` (the way out, or None), ``position`` (or None).
    """

    def __init__(
        self, code: Code, message: str, *, hint: str | None = None, position: Position | None = None
    ) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        self.position = position
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.code.name} {self.message}"]
        if self.position is not None:
            lines.append(f"      {self.position}")
        if self.hint is not None:
            lines.append(f"      hint: {self.hint}")
        return "\n".join(lines)


class InterfaceError(Error):
    """The calling program used the interface wrongly."""


class DatabaseError(Error):
    """Anything about the database, the query or the budget."""


class DataError(DatabaseError):
    """PEP 249; not raised, because a value's fault would tell of the value."""


class OperationalError(DatabaseError):
    """Something outside the query: budget, ledger, engine."""


class IntegrityError(DatabaseError):
    """PEP 249; not raised, dpsql writes no data."""


class InternalError(DatabaseError):
    """An invariant of dpsql itself does not hold."""


class ProgrammingError(DatabaseError):
    """The text cannot be understood: syntax, unknown names, wrong parameters."""


class NotSupportedError(DatabaseError):
    """The text is understood and refused."""


class PolicyError(ProgrammingError):
    """The policy cannot be used; the data owner can put it right.

    Attributes: ``faults``: one `Fault` for each thing wrong in the file; empty when it is not the file.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        position: Position | None = None,
        faults: tuple[Fault, ...] = (),
    ) -> None:
        self.faults = faults
        super().__init__(code, message, hint=hint, position=position)


class UnsupportedQuery(NotSupportedError):
    """The query uses a construct that is not proven safe; the analyst can write it otherwise."""


class PolicyRefused(NotSupportedError):
    """The query is fine in itself, but the policy does not permit it."""


class BudgetExceeded(OperationalError):
    """An account's filter refuses; nothing was charged or read.

    Attributes: ``account``, ``need`` (epsilon, delta) of the query, ``rest`` ({rule: remaining fraction}),
    ``largest_epsilon`` (the largest epsilon of this query that would still be admitted, or None).
    """

    def __init__(
        self,
        account: str,
        *,
        need: tuple[Decimal, Decimal],
        rest: dict[str, float],
        largest_epsilon: Decimal | None = None,
    ) -> None:
        self.account = account
        self.need = need
        self.rest = rest
        self.largest_epsilon = largest_epsilon
        super().__init__(BUDGET_EXCEEDED, self._message(), hint=self._hint())

    def _message(self) -> str:
        epsilon, delta = self.need
        rest = ", ".join(f"{rule} {fraction:.1%}" for rule, fraction in self.rest.items()) or "nothing"
        return (
            f"Account {self.account!r} has no room for this query: "
            f"it needs epsilon {number(epsilon)}, delta {number(delta)}; what is left of the account: {rest}."
        )

    def _hint(self) -> str:
        if self.largest_epsilon is None:
            return "No epsilon fits any more. The data owner decides about a new budget."
        return f"The largest epsilon that still fits is {number(self.largest_epsilon)}."


class EngineFailure(OperationalError):
    """The run failed; the charge stays, the text is constant, details are in the operator's log."""


class LedgerError(OperationalError):
    """The ledger cannot be used: broken, foreign, locked, or the disk is full."""
