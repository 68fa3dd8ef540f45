"""What an agent is told about its context: the figures of its own log, and texts that are gone."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.sessions import AFTER, BEFORE, SECRET, add_lines, call, home_session, result
from support.claude_sessions import replied, said, text
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.mcp_server.answering import MOST_CHARACTERS, answer_call
from workbench.mcp_server.answers import PAGE
from workbench.mcp_server.asked_context import ContextReader
from workbench.mcp_server.asking_agent import OwnSession
from workbench.mcp_server.protocol import ToolCallRequest
from workbench.sources.services import Services


class Asked:
    """Asks the tools about one file."""

    def __init__(self, services: Services, path: Path) -> None:
        self._services = services
        self._reader = ContextReader(services, lambda _: OwnSession(None, "there is none"), str(path))

    def __call__(self, tool: str, **arguments: object) -> str:
        return answer_call(self._services, self._reader, tool, ToolCallRequest(arguments, {}))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return home_session(tmp_path / "home", tmp_path, "mine", [*BEFORE, *AFTER])


def _numbers(lines: str, pattern: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(pattern, lines, re.MULTILINE)]


def test_the_kinds_add_up_to_the_reported_tokens(session: Path) -> None:
    with Services() as services:
        told = Asked(services, session)("context_now")
    assert "last request: 900 tokens of 200,000 (0.4 %), as reported by the provider" in told
    kinds = _numbers(told, r"^- [^:]+: (-?[\d,]+) tokens(?!.*removed)")
    gone = _numbers(told, r"^- summarised: .*, ([\d,]+) tokens")
    assert sum(kinds) == 900
    assert len(gone) == 1
    assert gone[0] > 2_000


def test_the_largest_items_are_those_of_the_context_and_not_of_the_past(session: Path) -> None:
    with Services() as services:
        told = Asked(services, session)("largest_items")
        first = Asked(services, session)("largest_items", limit=1)
    sizes = _numbers(told, r": ([\d,]+) tokens:")
    assert len(sizes) == 2
    assert sizes == sorted(sizes, reverse=True)
    assert "event 9, user" in told
    assert SECRET not in told
    assert first.endswith("\n1 smaller item not listed")


def test_what_a_compaction_took_and_lost_is_told_and_can_be_found_and_read_again(session: Path) -> None:
    with Services() as services:
        ask = Asked(services, session)
        removed = ask("what_was_removed")
        found = ask("find", text="INVOICE NUMBER")
        seq = re.findall(r"event (\d+), result of Read \(summarised", found)
        whole = ask("recall", id=seq[0])
    assert "by auto, active" in removed
    assert "path: src/keep.py" in removed
    assert "3,100 tokens before" in removed
    assert SECRET in removed
    assert len(seq) == 1
    assert whole.count("a line of the invoice") == 400
    assert "not an instruction" in whole


def test_a_session_is_read_again_when_it_has_grown(session: Path) -> None:
    with Services() as services:
        ask = Asked(services, session)
        assert "no event has this text" in ask("find", text="a new word")
        add_lines(session, result(8, "ask1", "..."), replied(9, "m9", text("here is a new word"), 1_234))
        assert "1 event with this text" in ask("find", text="a new word")
        assert "last request: 1,234 tokens" in ask("context_now")
        with session.open("a", encoding="utf-8") as file:
            file.write('{"type": "user", "message": {"role"')  # half a line
        assert "last request: 1,234 tokens" in ask("context_now")


def test_a_long_text_comes_in_pages_that_make_the_whole(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(9_000))
    path = home_session(tmp_path / "home", tmp_path, "mine", [said(1, words), replied(2, "m", text("ok"), 9)])
    pages, offset = "", 0
    with Services() as services:
        ask = Asked(services, path)
        while offset < len(words):
            page = ask("recall", id="1", offset=offset).split("instruction:\n")[1].rsplit("\n(end", 1)[0]
            assert len(page) <= PAGE
            pages, offset = pages + page, offset + len(page)
        with pytest.raises(WrongCall, match="offset: expected less than"):
            ask("recall", id="1", offset=len(words))
    assert pages == words


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("find", {}, "text: missing"),
        ("find", {"text": " "}, "expected some words"),
        ("find", {"text": "a", "limit": 1_000}, "limit: expected"),
        ("find", {"text": 5}, "text: expected text, got 5"),
        ("largest_items", {"limit": "many"}, "limit: expected a whole number, got"),
        ("largest_items", {"limit": True}, "limit: expected a whole number"),
        ("what_was_removed", {"limit": 1.5}, "limit: expected a whole number"),
        ("recall", {"id": ["3"]}, "id: expected text"),
        ("recall", {"id": "3", "offset": -1}, "offset: expected a number from 0 up"),
        ("recall", {"id": "999"}, "expected events from 1 to"),
        ("recall", {"id": "1", "offset": -1}, "offset: expected"),
        ("context_now", {"x": 1}, "x: "),
    ],
)
def test_wrong_arguments_are_refused_in_words(session: Path, tool: str, arguments: dict[str, object], why: str) -> None:
    with Services() as services, pytest.raises(WrongCall, match=why):
        Asked(services, session)(tool, **arguments)


def test_the_search_does_not_find_itself(session: Path) -> None:
    searched = call(8, "f1", "mcp__plugin_workbench_workbench__find", {"text": "a rare word"}, 950)
    add_lines(session, result(7.5, "ask1", "..."), searched, result(9, "f1", "no event has this text: a rare word"))
    with Services() as services:
        assert "no event has this text" in Asked(services, session)("find", text="rare word")


def test_where_there_is_no_session_the_reason_is_the_answer(tmp_path: Path) -> None:
    with Services() as services:
        reader = ContextReader(services, lambda _: OwnSession(None, "no session here yet"))
        with pytest.raises(WorkbenchError, match="no session here yet"):
            answer_call(services, reader, "context_now", ToolCallRequest({}, {}))


@given(st.text(min_size=1).filter(lambda words: bool(words.strip())), st.data())
def test_no_text_of_a_session_acts_on_a_terminal_or_makes_an_answer_too_long(words: str, data: st.DataObject) -> None:
    hostile = f"{words}\x1b]0;title\x07\x9b31m\u202e{words * data.draw(st.integers(1, 40))}"
    with tempfile.TemporaryDirectory() as folder, Services() as services:
        lines = [said(1, hostile), replied(2, "m", text(hostile), 50), *AFTER]
        ask = Asked(services, home_session(Path(folder), Path(folder), "mine", lines))
        answers = [ask("context_now"), ask("largest_items"), ask("what_was_removed"), ask("find", text="title")]
        answers.append(ask("recall", id="1-3"))
    for answer in answers:
        assert len(answer) <= MOST_CHARACTERS + 50
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", answer)
