"""Needed later: what answers use, and what holds it."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs, number
from workbench.lab.replay.needs import Needs, plain_numbers
from workbench.log.events import AssistantMessage, Body, Event, SystemMessage, ToolCall, ToolResult, UserMessage


def needs(*bodies: Body) -> Needs:
    return Needs(number(bodies))


def held(needs: Needs, text: str) -> set[str]:
    return {needs.facts[fact].text for fact in needs.held_in(text)}


@pytest.mark.parametrize(
    ("answer", "fact", "source"),
    [
        ("See src/app/config.py for it.", "src/app/config.py", "opened /home/ann/work/src/app/config.py:12"),
        ("Look into src/app/parts for it.", "src/app/parts", "sed -n 1,9p src/app/parts/config.py"),
        ("Look into src/app/parts for it.", "src/app/parts", "/home/ann/src/app/parts/config.py:12: port"),
        ("Look into /home/ann for it.", "/home/ann", "/home/ann/src/app/config.py:12: port"),
        ("It counts summary.passed there.", "summary.passed", "console.log(results.summary.passed, 'x');"),
        ("It calls load_policy first.", "load_policy", "def load_policy(name):"),
        ("It calls load_policy first.", "load_policy", "context.load.load_policy('x')"),
        ("The port is 48213.", "48213", "listening on port 48213"),
        ("It holds 1,284,003 rows.", "1284003", "rows: 1284003"),
        ("Broken since 3f9a2bc.", "3f9a2bc", "commit 3f9a2bc71d0e9aa1"),
        (
            'It says "the heron flies at midnight" there.',
            "the heron flies at midnight",
            "-> The heron  flies at midnight.",
        ),
        ("It raises a KeyMissingError.", "KeyMissingError", "raise KeyMissingError(name)"),
        ("See src/app/config.py for it.", "src/app/config.py", "\x1b[35msrc/app/config.py\x1b[m:3:port"),
        ("See src/app/config.py for it.", "src/app/config.py", "src/app/config.py:3:port=1"),
        ("It calls load_policy first.", "load_policy", "src/app/config.py:3:load_policy"),
        ("Use WidgetFactory.", "WidgetFactory", "let it = widgets::WidgetFactory::create(3);"),
        ("It is 48213.", "48213", "see issue-48213"),
        ("It is 48213.", "48213", "https://example.org/issues/48213"),
        ("It is 48213.", "48213", "job_48213_done"),
        ("Use fit(first_row) then.", "first_row", "load(first_row=3)"),
        ("Use first_row then.", "first_row", "load(first_row=3)"),
        ("Closes OPS-77.", "OPS-77", "on branch feature/OPS-77-ports"),
        ("Your order is #W2890441.", "W2890441", '{"order_id": "#W2890441"}'),
        ("Flight HAT177 it is.", "HAT177", "HAT177: 14 seats"),
        (
            "It is 550e8400-e29b-41d4-a716-446655440000.",
            "550e8400-e29b-41d4-a716-446655440000",
            "id=550E8400-E29B-41D4-A716-446655440000;",
        ),
        ("Write to ann.lee@example.org.", "ann.lee@example.org", "Ann Lee <ann.lee@example.org>"),
        ("It runs on 10.77.12.93.", "10.77.12.93", "bound to http://10.77.12.93/status"),
        ("It is at 0xDEADBEEF.", "0xDEADBEEF", "fault at 0xdeadbeef"),
        ("It calls shapes::Circle there.", "shapes::Circle", "use shapes::Circle;"),
        ("Look at größe_max here.", "größe_max", "let größe_max = 3"),
    ],
)
def test_what_an_answer_uses_is_found_where_it_stands(answer: str, fact: str, source: str) -> None:
    found = needs(UserMessage("go"), AssistantMessage(answer))
    assert fact in {each.text for each in found.facts}
    assert held(found, source) == {fact}
    assert held(found, "something else entirely, of 12 words and no more") == set()


@pytest.mark.parametrize(
    "answer",
    [
        "Done, all 12 tests pass.",
        "I looked at it and it is fine.",
        "Use --json > /dev/null",
        "its __init__()",
        "all *.eval.yaml files, and **/*.test.ts",
        "README.md, package.json and node_modules, with JSON.stringify",
        "UTF-8, SHA256, ISO-8601 and RFC-2119 at 127.0.0.1",
    ],
)
def test_plain_words_are_no_facts(answer: str) -> None:
    assert needs(AssistantMessage(answer)).facts == []


def test_two_words_with_a_hyphen_are_a_name_where_neither_stands_alone() -> None:
    answer = AssistantMessage("Deploy blue-harbor next.")
    named = needs(UserMessage("the service is blue-harbor."), answer)
    assert held(named, "name: blue-harbor") == {"blue-harbor"}
    for said in ("a blue one", "into the harbor."):
        assert held(needs(UserMessage(said), answer), "name: blue-harbor") == set()
    prose = AssistantMessage("It is case-sensitive, hard-coded, read-only and from a third-party.")
    assert needs(prose).facts == []


def test_a_call_uses_its_values_and_not_the_names_of_its_parameters() -> None:
    found = needs(ToolCall("a", "edit_file", '{"file_path": "src/a.py", "time_limit": 120000, "line": 1295}'))
    assert {fact.text for fact in found.facts} == {"src/a.py", "1295"}


def test_a_call_says_what_its_arguments_mean_however_they_are_spelt() -> None:
    found = needs(
        ToolCall("a", "edit_file", r'{"path": "src\/gr\u00f6\u00dfe.py", "half": "\ud83d", "text": "first_row\u003d"}')
    )
    assert {fact.text for fact in found.facts} == {"src/größe.py", "first_row"}


def test_whoever_says_it_holds_it_and_only_the_model_uses_it() -> None:
    found = needs(
        SystemMessage("work in src/a.py"),
        UserMessage("look at src/a.py"),
        ToolCall("a", "read_file", '{"path": "src/a.py"}'),
        ToolResult("a", "src/a.py: 3 lines"),
    )
    assert set(found.uses) == {3}
    assert set(found.holds) == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("12 345 6789", {"6789"}),
        ("1,234,567.5 and 0.0375", {"1234567.5", "0.0375"}),
        ("v1.2.3456 10.0.0.1 file-12345 /12345 a12345 12345b", set()),
        ("in 2024, or 48213.", {"2024", "48213"}),
    ],
)
def test_numbers_of_four_digits_and_more_count(text: str, numbers: set[str]) -> None:
    assert plain_numbers(text) == numbers


@given(logs(), st.text(max_size=200))
def test_a_text_that_an_answer_repeats_always_holds_what_the_answer_uses(events: list[Event], said: str) -> None:
    answer = AssistantMessage(f"{said} src/app.py load_it 48213")
    found = Needs([*events, Event(10_000, "last", 0, answer)])
    assert set(found.uses[10_000]) <= set(found.held_in(str(answer.content)))


@given(
    st.lists(st.text("0123456789", min_size=4, max_size=6), min_size=1, max_size=3),
    st.text("01234,._/-a ", max_size=60),
)
def test_a_number_is_found_however_quickly_the_others_are_passed_over(numbers: list[str], text: str) -> None:
    known = needs(AssistantMessage(" and ".join(numbers)))
    texts = [text, *(f"{text}{number}{text}" for number in numbers), f"{text} {numbers[0][:2]},{numbers[0][2:]}"]
    quickly = [held(known, each) for each in texts]
    with patch.object(Needs, "_may_hold_numbers", lambda *_: True):
        assert quickly == [held(known, each) for each in texts]
