"""A session as a page: what its data holds, and that no text in it is markup."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.talk import words
from workbench.config.errors import WrongCall
from workbench.context.policy_names import RECORDED
from workbench.log.events import AssistantMessage, Body, Setting, ToolCall, ToolResult, Usage, UserMessage
from workbench.sources.found_plans import find_plan
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, number_events
from workbench.views.session_page import make_session_page

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u202e\x00\x1b[31m&amp;]]>--><!--"


class Markup(HTMLParser):
    """The elements and attributes of a page, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in ("script", "style"):
            (self.scripts if self._in == "script" else self.styles).append(data)


def session(*bodies: Body) -> Source:
    return as_source("talk", number_events(bodies))


def talk(turns: int, text: str = "") -> Iterable[Body]:
    """Turns with a call each, a report each, and a result that is long."""
    for at in range(1, turns + 1):
        yield UserMessage(f"question {at} {text}")
        yield ToolCall(f"c{at}", "read_file", json.dumps({"path": f"{at}/{text}.py"}), f"r{at}")
        yield Usage("gpt-4o", 100 * at, 110 * at)
        yield ToolResult(f"c{at}", f"result {at} {text} {words(200)}")
        yield AssistantMessage(f"answer {at}", f"s{at}", model="gpt-4o")
        yield Usage("gpt-4o", 200 * at, 210 * at)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def rows_of(request: dict[str, Any]) -> list[int]:
    runs = request["rows"]
    return [row for at in range(0, len(runs), 2) for row in range(runs[at], runs[at] + runs[at + 1])]


@pytest.fixture
def services() -> Iterable[Services]:
    with Services() as made:
        yield made


@pytest.mark.parametrize("more", [(), (Setting(RECORDED, "openai"),)], ids=["our own", "another agent's"])
def test_each_request_has_its_rows_with_the_tokens_and_states_of_its_plan(
    services: Services, more: tuple[Body, ...]
) -> None:
    source = session(*talk(3), *more)
    assert source.recorded == bool(more)
    data = data_of(make_session_page(services, source).html)
    recorded = RecordedSession(services, Options(), source)
    numbered = [each for each in data["requests"] if each["number"]]
    assert len(numbered) == len(recorded.marks) == 6
    for at, request in enumerate(numbered):
        plan = find_plan(services, source, Options(), nth=at + 1).plan
        found = [data["rows"][row] for row in rows_of(request)]
        items = plan.items.candidates()
        assert request["size"] == plan.size
        assert [row[0] for row in found] == [item.seq for item in items]
        assert [row[5] for row in found] == [item.tokens for item in items]
        assert [data["states"][row[4]][0] for row in found] == [item.state for item in items]
        assert [data["words"][row[3]] for row in found] == [item.who for item in items]


def test_each_text_is_in_the_page_once_however_many_requests_send_it(services: Services) -> None:
    page = make_session_page(services, session(*talk(8))).html
    for at in range(1, 9):
        assert page.count(f"question {at} ") == 1
        assert page.count(f"result {at} ") == 1
    data = data_of(page)
    assert len(set(data["texts"])) == len(data["texts"])
    assert sum(len(rows_of(each)) for each in data["requests"]) > 3 * len(data["rows"])


def test_one_request_alone_has_only_its_own_rows(services: Services) -> None:
    source = session(*talk(4))
    whole = data_of(make_session_page(services, source).html)
    data = data_of(make_session_page(services, source, 2).html)
    [request] = data["requests"]
    assert (request["number"], data["all"]) == (2, 8)
    assert request["size"] == whole["requests"][1]["size"]
    assert not any("question 2" in text for text in data["texts"])
    with pytest.raises(WrongCall, match="--request: expected a number from 1 to 8, got 9"):
        make_session_page(services, source, 9)


def test_a_session_without_requests_shows_the_next_one(services: Services) -> None:
    data = data_of(make_session_page(services, session(UserMessage("hello"))).html)
    [request] = data["requests"]
    assert request["number"] is None
    assert "hello" in data["texts"]
    assert data_of(make_session_page(services, session()).html)["requests"][0]["number"] is None


def test_another_agents_session_opens_at_its_last_request_and_has_its_last_answer(services: Services) -> None:
    data = data_of(make_session_page(services, session(*talk(2), Setting(RECORDED, "openai"))).html)
    *numbered, following = data["requests"]
    assert (data["start"], numbered[-1]["number"], following["number"]) == (3, 4, None)
    last = [data["texts"][data["rows"][row][9]] for row in rows_of(following)]
    assert last[-1] == "answer 2"


def test_secrets_are_masked_in_every_text_and_name(services: Services) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz"
    source = session(Setting("title", f"about {key}"), *talk(2, key), ToolCall("x", key, json.dumps({key: "1"}), "r9"))
    plain = make_session_page(services, source)
    masked = make_session_page(services, source, redact=True)
    assert plain.redacted == 0
    assert key in plain.html
    assert key not in masked.html
    assert masked.redacted == masked.html.count("[redacted]") - masked.html.count("<title>about [redacted]") > 4


@given(st.text(max_size=40), st.sampled_from(["", EVIL, "<b>", "${x}", "\ud800", "`", "'\"", "</title>", "</style>"]))
def test_no_text_of_a_session_is_ever_markup(text: str, evil: str) -> None:
    bad = text + evil + text
    bodies = (Setting("title", bad), Setting("model", bad), *talk(1, bad), ToolCall(bad, bad, bad, bad))
    with Services() as services:
        page = make_session_page(services, as_source(bad, number_events(bodies))).html
    found = Markup(page)
    empty = Markup(make_session_page(Services(), session()).html)
    assert found.tags == empty.tags
    assert found.attributes == empty.attributes
    assert found.scripts[1:] == empty.scripts[1:]
    assert not any(name.startswith("on") or name in ("src", "href", "style") for name in found.attributes)
    page.encode()


def test_the_policy_of_the_page_names_its_own_script_and_style_and_nothing_else(services: Services) -> None:
    page = make_session_page(services, session(*talk(1))).html
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    found = Markup(page)
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (*found.styles, found.scripts[1])]
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert [rules["style-src"], rules["script-src"]] == [f"'sha256-{each}'" for each in hashes]
    assert page.index("Content-Security-Policy") < page.index("<style>")
