"""What the documents behind the presets ask for, and which test shows it: `docs/documents.md`.

A test says with `@requirement` what it shows. `python tests/support/requirements.py` runs those tests and writes the
page from what came of them; another test holds the page equal to the marks, so that neither changes alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "documents.md"

DOCUMENTS = {
    "codex": "Codex, as ADR-0006 of adk-code describes it",
    "layers": "Duragent's context window management",
    "sliding": "ADK, as ADR-009 of adk-code describes it",
    "window": "an ADR-005 on a sliding window with summarisation",
    "confirm": "a document on compaction with confirmation",
}
TOPICS = (
    *("windows", "counting", "budget", "instructions", "results", "masking", "pairs", "history", "turn"),
    *("trigger", "selection", "summary", "request", "log", "failures", "shown", "commands", "configuration", "others"),
)
"""The order of the rows."""

HEAD = """\
# The documents, line by line

Five presets reproduce a documented system ([policies](policies.md)). Here is what each document asks for, in our words,
and the test that shows it on the program. *Holds* means that the program does it; *decided otherwise* that it does
something else, which the test shows, and why.

The page is made by a run of those tests: `uv run python tests/support/requirements.py`.
"""


class Row(NamedTuple):
    """One requirement, and the test that shows it."""

    document: str
    topic: str
    text: str
    decided: str
    """Why the program does something else; empty where it does what is asked."""
    file: str
    test: str


def requirement(document: str, topic: str, text: str, *, decided: str = "") -> pytest.MarkDecorator:
    """The mark of a test that shows what a document asks for, or what is done instead and why."""
    return pytest.mark.requirement(document, topic, text, decided=decided)


def rows() -> list[Row]:
    """All of them, read from the tests' source: nothing is imported for it."""
    found: list[Row] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "requirement(" in source:
            found += _marked(ast.parse(source), path.relative_to(TESTS).as_posix())
    return _in_order(found)


def _marked(tree: ast.Module, file: str) -> Iterator[Row]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in (node for decorator in function.decorator_list for node in ast.walk(decorator)):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "requirement":
                    document, topic, text = (ast.literal_eval(each) for each in call.args)
                    named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
                    yield Row(document, topic, text, named.get("decided", ""), file, function.name)


def _in_order(found: Iterable[Row]) -> list[Row]:
    documents = list(DOCUMENTS)
    return sorted(found, key=lambda row: (documents.index(row.document), TOPICS.index(row.topic), row))


def documents_page(found: Iterable[Row], failed: frozenset[tuple[str, str]] = frozenset()) -> str:
    """The page, where these tests (file and name) did not pass and all others did."""
    parts = [HEAD]
    found = list(found)
    for document, about in DOCUMENTS.items():
        mine = [row for row in found if row.document == document]
        parts.append(f"\n## {document}\n\nAfter {about}: {len(mine)} requirements.\n\n")
        parts.append("| about | requirement | on the program | shown by |\n| --- | --- | --- | --- |\n")
        parts += [_line(row, failed) for row in mine]
    return "".join(parts)


def _line(row: Row, failed: frozenset[tuple[str, str]]) -> str:
    verdict = f"decided otherwise: {row.decided}" if row.decided else "holds"
    if (row.file, row.test) in failed:
        verdict = "**does not hold**"
    words = row.test.removeprefix("test_").replace("_", " ")
    cells = (row.topic, row.text, verdict, f"[{words}](../tests/{row.file})")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


class _Run:
    """A plugin of pytest's that notes the requirements of each test and whether it passed."""

    def __init__(self) -> None:
        self.rows: set[Row] = set()
        self.passed: set[tuple[str, str]] = set()
        self.failed: set[tuple[str, str]] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            file, name = _place(item.nodeid)
            for mark in item.iter_markers("requirement"):
                document, topic, text = mark.args
                self.rows.add(Row(document, topic, text, mark.kwargs["decided"], file, name))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(_place(report.nodeid))
        elif report.when == "call":
            self.passed.add(_place(report.nodeid))


def _place(nodeid: str) -> tuple[str, str]:
    file, _, name = nodeid.partition("::")
    return file.removeprefix("tests/"), name.rpartition("::")[2].partition("[")[0]


def update(arguments: list[str]) -> int:
    """Run the tests that show a requirement, and write the page."""
    run = _Run()
    files = sorted({str(TESTS / row.file) for row in rows()})
    code = pytest.main([*files, "-m", "requirement", *arguments], plugins=[run])
    wanted = {(row.file, row.test) for row in run.rows}
    PAGE.write_text(documents_page(_in_order(run.rows), frozenset(run.failed | wanted - run.passed)), encoding="utf-8")
    return int(code)


if __name__ == "__main__":
    sys.exit(update(["-n", "0", *sys.argv[1:]]))
