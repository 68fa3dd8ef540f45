"""Events as JSON: nothing is lost, and equal events give equal bytes."""

from __future__ import annotations

import json
from datetime import datetime
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.text import without_surrogates
from workbench.log.codec import decode_event, encode_event, search_text, settle_event
from workbench.log.errors import BadEvent
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Hold,
    ImagePart,
    KeptEvent,
    OtherPart,
    Override,
    Reasoning,
    Request,
    Revert,
    Setting,
    SlotContent,
    Snapshot,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)

HEAD = '{"v":1,"seq":7,"id":"a","at":5,"kind":'
COMPACTION = HEAD + '"compaction","first":1,"last":2,"summary":"",'


def wrong(value: object) -> Any:
    """A value where the type of the field forbids it."""
    return value


def line_of(body: Body) -> str:
    return encode_event(Event(7, "a", 5, body))


def test_a_hold_that_says_nothing_of_time_took_none() -> None:
    assert decode_event(HEAD + '"hold","request":1,"rule":"r"}').body == Hold(1, "r", took=0)


@given(data=st.data())
def test_every_event_reads_back_as_it_was(data: st.DataObject, event: st.SearchStrategy[Event]) -> None:
    given_event = data.draw(event)
    assert decode_event(encode_event(given_event)) == given_event


@given(data=st.data())
def test_every_line_is_written_again_as_it_was(data: st.DataObject, event: st.SearchStrategy[Event]) -> None:
    line = encode_event(data.draw(event))
    assert encode_event(decode_event(line)) == line
    assert encode_event(decode_event(json.loads(line))) == line
    assert json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")) == line
    assert "\n" not in line


@given(data=st.data())
def test_a_settled_event_is_what_its_line_gives(data: st.DataObject, event: st.SearchStrategy[Event]) -> None:
    settled, line = settle_event(data.draw(event))
    assert repr(settled) == repr(decode_event(line))


LINES = [
    (SystemMessage("s", "developer"), '"system","content":"s","role":"developer"}'),
    (UserMessage("é"), '"user","content":"é"}'),
    (UserMessage((TextPart("t"),), "me"), '"user","content":[{"type":"text","text":"t"}],"name":"me"}'),
    (
        UserMessage((ImagePart("u"), ImagePart("u", "low"), OtherPart({"type": "audio"}))),
        '"user","content":[{"type":"image","url":"u"},{"type":"image","url":"u","detail":"low"},'
        '{"type":"other","data":{"type":"audio"}}]}',
    ),
    (AssistantMessage("a", "r", "", "broken"), '"assistant","content":"a","reply":"r","finish":"broken"}'),
    (Reasoning("t"), '"reasoning","text":"t"}'),
    (ToolCall("c", "ls", "{}"), '"tool_call","call_id":"c","tool":"ls","arguments":"{}"}'),
    (ToolResult("c", "", is_error=True), '"tool_result","call_id":"c","content":"","is_error":true}'),
    (SlotContent("tools", "ls", "{}"), '"slot","slot":"tools","name":"ls","text":"{}"}'),
    (
        Compaction(1, 9, "s", (KeptEvent(2), KeptEvent(3, "cut")), "end", meta={"cost": 0.5}),
        '"compaction","first":1,"last":9,"summary":"s","kept":[{"seq":2},{"seq":3,"text":"cut"}],"place":"end",'
        '"meta":{"cost":0.5}}',
    ),
    (Revert(3), '"revert","target":3}'),
    (Override("pin", 1, 2), '"override","action":"pin","first":1,"last":2}'),
    (
        Usage("m", 10, 0, 0, 0, 0, 0, cost=0.0, upto=0, request=0),
        '"usage","model":"m","estimate":10,"prompt":0,"cost":0.0}',
    ),
    (Snapshot("c", "/r"), '"snapshot","commit":"c","root":"/r"}'),
    (Setting("title", None), '"setting","key":"title","value":null}'),
    (Failure("net", "gone"), '"error","category":"net","message":"gone"}'),
    (Unknown("dance", {"step": [1, {}]}), '"dance","step":[1,{}]}'),
]


@pytest.mark.parametrize(("body", "rest"), LINES)
def test_each_kind_has_this_line(body: Body, rest: str) -> None:
    assert line_of(body) == HEAD + rest
    assert decode_event(HEAD + rest) == Event(7, "a", 5, body)


@pytest.mark.parametrize(
    "line",
    [
        HEAD + '"dance","b":1,"a":2}',
        HEAD + '"user","content":"x","mood":"good"}',
        HEAD + '"user","mood":"good","content":"x"}',
        HEAD + '"user","content":[{"type":"hologram","url":"x"}]}',
        HEAD + '"user","content":[{"type":"text","text":"x","lang":"la"}]}',
        HEAD + '"override","action":"fold","first":1,"last":2}',
        HEAD + '"compaction","first":1,"last":2,"summary":"","kept":[{"seq":1,"why":"x"}]}',
        '{"v":2,"seq":7,"id":"a","at":5,"kind":"user","content":{"as":"later"}}',
        '{"v":3,"seq":7,"id":"a","at":5,"kind":"dance"}',
    ],
)
def test_what_a_newer_version_wrote_is_carried_along(line: str) -> None:
    event = decode_event(line)
    assert isinstance(event.body, Unknown)
    assert (event.seq, event.id, event.at) == (7, "a", 5)
    assert encode_event(event) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "expected one JSON object"),
        ("[1]", "expected one JSON object, found list"),
        ('{"v":1', "expected one JSON object"),
        ("{} {}", "expected one JSON object"),
        ("[" * 100_000, "not nested so deeply"),
        (HEAD + '"usage","model":"m","estimate":1,"cost":NaN}', "NaN is not JSON"),
        ('{"v":1,"seq":7,"id":"a","at":5}', "the key 'kind'"),
        ('{"v":1,"seq":"7","id":"a","at":5,"kind":"user"}', "whole numbers for `v`, `seq` and `at`"),
        ('{"v":1,"seq":true,"id":"a","at":5,"kind":"user"}', "whole numbers for `v`, `seq` and `at`"),
        ('{"v":1,"seq":0,"id":"a","at":5,"kind":"user"}', "`seq` from 1"),
        ('{"v":1,"seq":1,"id":"","at":5,"kind":"user"}', "that are not empty"),
        (HEAD + '"user"}', "a user event: object missing required field `content`"),
        (HEAD + '"user","content":3}', "a user event: expected `str | array`, got `int` - at `$.content`"),
        (HEAD + '"user","content":["x"]}', "expected `object`, got `str` - at `$.content[0]`"),
        (HEAD + '"user","content":[{"type":"text"}]}', "missing required field `text` - at `$.content[0]`"),
        (HEAD + '"user","content":"x","name":null}', "expected `str`, got `null` - at `$.name`"),
        (
            HEAD + '"tool_result","call_id":"c","content":"","is_error":1}',
            "expected `bool`, got `int` - at `$.is_error`",
        ),
        (HEAD + '"revert","target":1.5}', "expected `int`, got `float` - at `$.target`"),
        (
            HEAD + '"usage","model":"m","estimate":1,"cost":"2"}',
            "expected `int | float | null`, got `str` - at `$.cost`",
        ),
        (
            COMPACTION + '"meta":[]}',
            "expected `object`, got `array` - at `$.meta`",
        ),
        (
            COMPACTION + '"kept":[1]}',
            "expected `object`, got `int` - at `$.kept[0]`",
        ),
        (COMPACTION + '"kept":1}', "expected `array`, got `int` - at `$.kept`"),
        (HEAD + '"override","action":3,"first":1,"last":2}', "expected `str`, got `int` - at `$.action`"),
        (HEAD + r'"override","action":"\ud800","first":1,"last":2}', "expected words without lone surrogates"),
        (HEAD + r'"user","content":"a","\ud800":1}', "expected words without lone surrogates"),
    ],
)
def test_what_is_no_event_is_refused_and_says_what_was_expected(line: str, expected: str) -> None:
    with pytest.raises(BadEvent, match=r"^[^\n]*$") as told:
        decode_event(line)
    assert expected in str(told.value)


@pytest.mark.parametrize(
    "body",
    [
        UserMessage(wrong(["not a tuple"])),
        UserMessage((wrong("not a part"),)),
        UserMessage(wrong(None)),
        UserMessage("", wrong(3)),
        Usage("", wrong(True)),
        Usage("", 0, wrong("3")),
        Reasoning(wrong(False)),
        Failure("", wrong(None)),
        Request("chat", "", messages=wrong("ab")),
        UserMessage((TextPart(wrong(3)),)),
        ToolCall("c", "ls", wrong({"not": "a string"})),
        Override(wrong("fold"), 1, 2),
        Compaction(1, 2, "", (KeptEvent(wrong("1")),)),
        Compaction(1, 2, "", (), meta=wrong(3)),
        Setting("x", b"bytes"),
        Setting("x", datetime(2026, 1, 1)),
        Setting("x", {"y": float("inf")}),
        Usage("m", 1, cost=float("nan")),
        Setting("x", object()),
        Setting("x", {("a", "b"): 1}),
        Unknown("dance", {"seq": 3}),
        Unknown("", {}),
        wrong("no body at all"),
    ],
)
def test_what_could_not_be_read_back_is_never_written(body: Body) -> None:
    with pytest.raises(BadEvent, match="expected"):
        line_of(body)


@given(st.text(st.characters()))
def test_a_clean_text_has_utf8_and_differs_only_in_lone_surrogates(text: str) -> None:
    cleaned = without_surrogates(text)
    cleaned.encode()
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert cleaned == text


def test_a_lone_surrogate_becomes_one_replacement_character() -> None:
    assert without_surrogates("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert without_surrogates("\ud83c\udf89") == "🎉"  # the two halves of one character


@given(st.text(st.characters(), max_size=20), st.lists(st.text(st.characters()), max_size=3))
def test_a_settled_event_is_what_its_line_reads_back_as(text: str, values: list[str]) -> None:
    for body in (
        UserMessage(text),
        ToolCall("c", text, text),
        Setting(text, tuple(values)),
        UserMessage((TextPart(text),)),
    ):
        event, line = settle_event(Event(1, "a", 0, body))
        assert decode_event(line) == event
        assert encode_event(event) == line
        line.encode()


def test_free_values_settle_into_what_json_can_hold() -> None:
    event, _ = settle_event(Event(1, "a", 0, Setting("x", {1: (2, MappingProxyType({"k": None}))})))
    assert event.body == Setting("x", {"1": [2, {"k": None}]})
    event, _ = settle_event(Event(1, "a", 0, Compaction(1, 2, "", meta=MappingProxyType({"a": 1}))))
    assert event.body == Compaction(1, 2, "", meta={"a": 1})
    event, _ = settle_event(Event(1, "a", 0, Compaction(1, 2, "", wrong([KeptEvent(1)]))))
    assert event.body == Compaction(1, 2, "", (KeptEvent(1),))


def test_a_long_text_is_kept_once_and_the_free_values_beside_it_settle() -> None:
    text = "x" * (1 << 20)
    event = Event(1, "a", 0, UserMessage((TextPart(text),)))
    assert settle_event(event)[0] is event
    settled, _ = settle_event(Event(1, "a", 0, Setting(text, {1: (2,)})))
    assert settled.body == Setting(text, {"1": [2]})


def test_a_line_with_half_a_character_is_read_all_the_same() -> None:
    event = decode_event(HEAD + r'"user","content":"a\ud800"}')
    assert settle_event(event)[0].body == UserMessage("a\ufffd")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (UserMessage((TextPart("one"), ImagePart("data:secret"))), "one\n[image]"),
        (AssistantMessage("two"), "two"),
        (SystemMessage("three"), "three"),
        (ToolResult("c", "four"), "four"),
        (Reasoning("five"), "five"),
        (ToolCall("c", "grep", '{"for":"six"}'), 'grep {"for":"six"}'),
        (SlotContent("memory", "preferences.md", "seven"), "preferences.md\nseven"),
        (Compaction(1, 2, "eight"), "eight"),
        (Failure("network", "nine"), "network: nine"),
        (Snapshot("c", "/r", "ten"), "ten"),
        (Setting("title", "eleven"), "eleven"),
        (Setting("limit", 12), ""),
        (Usage("m", 1), ""),
        (Unknown("dance", {"text": "later"}), ""),
    ],
)
def test_these_are_the_words_of_an_event(body: Body, words: str) -> None:
    assert search_text(body) == words
