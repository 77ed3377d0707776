"""How is the report on a ledger written, for people (HTML) and for programs (JSON)?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from importlib.resources import files
from itertools import groupby
from math import exp, floor, isfinite, log10
from typing import TYPE_CHECKING, Any, Final

from dpsql.cli.format import charge_documents, printable
from dpsql.spelling import number

if TYPE_CHECKING:
    from dpsql.ledger.account import AccountState
    from dpsql.ledger.audit import Finding
    from dpsql.ledger.report import AccountReport, OwnerAct, Question, Report

TEMPLATE: Final = "audit_report.html.j2"
_TITLES: Final = {
    "storage": "The file is undamaged and its tables are those of a ledger",
    "format": "Every entry has its one written form",
    "chain": "No entry was edited, removed, inserted or moved",
    "policy": "Every charge names the policy in force, and the privacy unit always pays",
    "sums": "Budgets less all charges are, exactly, what is recorded as left",
    "filters": "Every charge was within what its account held, and took its full price",
    "releases": "Every answer was paid for once, before it left",
    "anchor": "The head that was noted elsewhere is in this ledger",
    "secret": "The secret that chooses groups is the one of the opening",
    "head": "The last entry is the one that was written last",
    "states": "The balances at hand are those that follow from the entries",
    "index": "The index is what the entries say",
}
_RULES: Final = {
    "basic": "sum of epsilons",
    "residue": "Gaussian budget",
    "rdp": "Rényi budget",
    "slack": "delta for thresholds",
}
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN_FACTOR: Final = 1e6  # larger factors are written as a power of ten


def to_html(report: Report) -> str:
    """The report as one page that loads nothing and runs nothing; every text of the ledger is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "printable": printable, "chance": chance, "factor": factor}
    source = files("dpsql.cli").joinpath(TEMPLATE).read_text("utf-8")
    return environment.from_string(source).render(
        report=report,
        document=to_document(report),
        analysts=_analysts(report),
        findings=_findings(report.findings),
        rules=_RULES,
        promised=[(a, whom) for a in report.accounts if (whom := holds_for(a.state, _unit(report)))],
        unit=_unit(report),
    )


def to_json(report: Report) -> str:
    """The report as a JSON document."""
    return json.dumps(to_document(report), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_document(report: Report) -> dict[str, Any]:
    """The report as JSON values; decimals are texts, so that nothing is rounded."""
    epsilon, delta = report.table_sum
    return {
        "policy": {
            "id": report.policy_id,
            "digest": report.policy_digest,
            "text": _policy(report.policy_text),
        },
        "head": {"sequence": report.head.sequence, "hash": report.head.hash, "anchor": str(report.head)},
        "first_day": report.first_day,
        "last_day": report.last_day,
        "verified": report.verified,
        "findings": [
            {"check": f.check, "ok": f.ok, "sequence": f.sequence, "detail": f.detail}
            for f in report.findings
        ],
        "unread_from": report.unread,
        "literals": report.literals,
        "accounts": [_account(account, _unit(report)) for account in report.accounts],
        "sum_of_tables": {"epsilon": number(epsilon), "delta": number(delta)},
        "closed_accounts": list(report.closed),
        "owner": list(_acts(report.acts)),
        "questions": [_question(question) for question in report.questions],
    }


def factor(loss: float | Decimal) -> str:
    """By how much odds can change at a privacy loss, rounded up: "2.8", or "4.9 × 10⁸".

    >>> factor(1.0), factor(20.0)
    ('2.8', '4.9 × 10⁸')
    """
    value = exp(min(float(loss), 700.0))
    if value < _PLAIN_FACTOR:
        return f"{value + 0.05:,.1f}" if value < 100 else f"{value + 0.5:,.0f}"
    power = floor(log10(value))
    return f"{value / 10.0**power + 0.05:.1f} × 10{str(power).translate(_RAISED)}"


def chance(delta: Decimal) -> str:
    """A small probability in words: "1 in 500,000", or "never".

    >>> chance(Decimal("2e-6"))
    '1 in 500,000'
    """
    return f"1 in {floor(1 / delta):,}" if delta > 0 else "never"


def _account(account: AccountReport, unit: str) -> dict[str, Any]:
    state = account.state
    loss = account.loss
    return {
        "account": state.account,
        "epsilon": number(state.epsilon),
        "delta": number(state.delta),
        "holds_for": holds_for(state, unit),
        "rules": state.rules,
        "charges": account.charges,
        "more": state.more,
        "loss_so_far": loss if loss is not None and isfinite(loss) else None,
        "loss_delta": number(account.loss_delta),
    }


def holds_for(state: AccountState, unit: str) -> str | None:
    """Whom an account's (epsilon, delta) protects; None for a quota, which protects nobody."""
    kind, _, name = state.account.partition(":")
    match kind:
        case "unit":
            return f"every {unit}, with all its rows in all tables"
        case "table":
            return f"a {unit} all of whose rows are in table {name}"
        case _:
            return None


def _unit(report: Report) -> str:
    units = [a.state.account for a in report.accounts if a.state.account.startswith("unit:")]
    return units[0].partition(":")[2] if units else "person"


def _question(question: Question) -> dict[str, Any]:
    return {
        "sequence": question.sequence,
        "day": question.day,
        "analyst": question.analyst,
        "statement": question.statement,
        "charges": charge_documents(question.charges),
        "outcome": question.outcome,
    }


def _acts(acts: tuple[OwnerAct, ...]) -> Iterator[dict[str, Any]]:
    from dpsql.policy.digest import differences

    before: str | None = None
    for act in acts:
        document: dict[str, Any] = {"sequence": act.sequence, "day": act.day, "what": act.what}
        if act.what == "unlocked":
            yield {**document, "analyst": act.analyst}
            continue
        if act.what == "restored":
            yield {**document, "lost": act.lost}
            continue
        try:
            changes = [] if before is None else list(differences(before, act.policy_text))
        except ValueError:
            changes = []  # The text of a policy is its own business; the ledger keeps what it was given.
        yield {**document, "changes": changes}
        before = act.policy_text


def _policy(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _analysts(report: Report) -> list[dict[str, Any]]:
    def name(question: Question) -> str:
        return question.analyst

    rows = []
    for analyst, asked in groupby(sorted(report.questions, key=name), key=name):
        questions = list(asked)
        outcomes = [question.outcome for question in questions]
        rows.append(
            {
                "analyst": analyst,
                "questions": len(questions),
                "answered": outcomes.count("answered"),
                "failed": outcomes.count("failed"),
                "days": len({question.day for question in questions}),
            }
        )
    return sorted(rows, key=lambda row: -int(str(row["questions"])))


def _findings(findings: tuple[Finding, ...]) -> list[dict[str, Any]]:
    return [
        {"title": _TITLES.get(f.check, f.check), "check": f.check, "ok": f.ok, "where": f.sequence}
        | {"detail": "" if f.ok else f.detail}
        for f in findings
    ]
