"""Can a data-protection officer read the report, and can nothing in it act?"""

from __future__ import annotations

import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

from dpsql.policy import load
from dpsql.session import open_ledger, public_facts
from tests.cli.conftest import Run

EVIL = "</code><script>alert(1)</script>"
COUNT = f"SELECT COUNT(*) AS \"{EVIL}\" FROM patients WHERE illness <> 'Ada'"


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_page_tells_promise_budgets_questions_and_checks(run: Run) -> None:
    run("query", COUNT)

    result = run("ledger", "export")

    page = Page(result.stdout)
    assert result.exit_code == 0
    assert page.open == []
    assert "Verified. Every entry was replayed; all 11 checks hold." in page.text
    assert "every patient, with all its rows in all tables 2 1e-6 7.4 times 1 in 1,000,000" in page.text
    assert "75.0 %" in page.text
    assert "No entry was edited, removed, inserted or moved" in page.text
    assert result.stderr.split()[-1] in page.text


def test_the_page_runs_nothing_and_loads_nothing(run: Run) -> None:
    run("query", COUNT)

    text = run("ledger", "export").stdout

    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert [name for name, _ in page.attributes if name.startswith("on") or name == "src"] == []
    assert [value for name, value in page.attributes if name == "href"] in ([], ["#checks"])
    assert re.search(r"url\(|@import|https?://", text) is None
    assert EVIL in page.text


def test_constants_are_hidden_unless_they_are_wanted(run: Run) -> None:
    run("query", COUNT)

    hidden = [run("ledger", "export", "--format", form).stdout for form in ("html", "json")]
    shown = run("ledger", "export", "--literals").stdout

    assert not any("Ada" in text for text in hidden)
    assert "Ada" in Page(shown).text


def test_the_document_holds_the_same_and_every_number_in_full(run: Run) -> None:
    run("query", COUNT, "--epsilon", "0.125")

    document = json.loads(run("ledger", "export", "--format", "json").stdout)

    (question,) = document["questions"]
    assert question["charges"][0] == {"account": "table:patients", "epsilon": "0.125", "delta": "0"}
    assert (question["analyst"], question["outcome"]) == ("analyst", "answered")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", question["day"])
    assert document["verified"]
    assert document["head"]["anchor"].startswith("3:")
    assert document["accounts"][0]["loss_so_far"] == 0.125
    assert document["sum_of_tables"] == {"epsilon": "2", "delta": "1e-6"}
    assert document["policy"]["text"]["id"] == "ward"


def test_a_change_of_policy_is_told_with_its_differences(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    policy_file.write_text(policy_file.read_text().replace("bounds: [0, 110]", "bounds: [0, 100]"))
    assert run("policy", "accept", str(policy_file), "--yes").exit_code == 0

    document = json.loads(run("ledger", "export", "--format", "json").stdout)
    page = Page(run("ledger", "export").stdout)

    assert [act["what"] for act in document["owner"]] == ["opened", "policy_changed"]
    assert any("age.bounds" in change for change in document["owner"][1]["changes"])
    assert "Put another policy in force." in page.text


def test_a_ledger_that_does_not_verify_is_reported_and_says_so_first(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    with sqlite3.connect(policy_file.with_name("ward.ledger.db")) as store:
        store.execute("UPDATE state SET value = '0' WHERE kind = 'head'")
    store.close()

    result = run("ledger", "export")

    assert result.exit_code == 6
    assert "Not verified. head" in Page(result.stdout).text


def test_an_anchor_that_is_not_met_is_a_finding(run: Run) -> None:
    run("query", COUNT)

    result = run("ledger", "export", "--anchor", f"9:{'0' * 64}")

    assert result.exit_code == 6
    assert "The head that was noted elsewhere" in Page(result.stdout).text


def test_a_ledger_nobody_has_asked_has_a_report_too(run: Run, policy_file: Path) -> None:
    policy = load(policy_file)
    open_ledger(policy, public_facts(policy)).close()

    page = Page(run("ledger", "export").stdout)

    assert "Nobody has asked anything." in page.text
    assert "privacy loss so far" not in page.text
