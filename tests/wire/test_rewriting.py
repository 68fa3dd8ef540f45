"""A request with something left out, masked or edited is the request that would have been made without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, Talk, talks, written
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.values import replace
from workbench.log.events import (
    AssistantMessage,
    Body,
    DialectName,
    OwnDialect,
    Reasoning,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from workbench.wire.dialects import read_request
from workbench.wire.rewriting import BodyItem, Rewrite, items_in, rewritten

MARK = {"type": "ephemeral"}
dialects = st.sampled_from(get_args(OwnDialect))


def texts_in(talk: Talk) -> list[str]:
    """What can be left out of a talk: all but the last message."""
    found: list[str] = []
    for step in talk[:-1]:
        if isinstance(step, Said):
            found += step.texts
        else:
            found += [step.text] * bool(step.text) + [call.result for call in step.calls]
    return found


def without(talk: Talk, gone: set[str]) -> Talk:
    """The talk as if something had never been there."""
    made: list[Reply | Said] = []
    for step in talk:
        if isinstance(step, Said):
            texts = tuple(text for text in step.texts if text not in gone)
            made.append(replace(step, texts=texts, listed=step.listed or len(step.texts) > 1))
        else:
            calls = tuple(call for call in step.calls if call.result not in gone)
            made.append(replace(step, text="" if step.text in gone else step.text, calls=calls))
    return tuple(made)


def path_of(items: list[BodyItem], text: str) -> str:
    """Where a text stands; the result of a call is as good as the call."""
    return next(item.path for item in items if item.text == text)


def calls_and_results(dialect: DialectName, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of calls and of results, as a request is read."""
    read = read_request(dialect, body)
    calls = [each.call_id for each in read if isinstance(each, ToolCall)]
    return calls, [each.call_id for each in read if isinstance(each, ToolResult)]


@given(dialect=dialects, talk=talks())
def test_nothing_asked_for_changes_nothing(dialect: DialectName, talk: Talk) -> None:
    body = written(dialect, talk)
    assert json.dumps(rewritten(dialect, body, Rewrite())) == json.dumps(body)


@given(dialect=dialects, talk=talks(), data=st.data())
def test_what_is_left_out_was_never_there_and_calls_leave_with_their_results(
    dialect: DialectName, talk: Talk, data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.sampled_from(texts_in(talk))))
    body = written(dialect, talk)
    before, items = json.dumps(body), items_in(dialect, body)
    paths = {path_of(items, text) for text in gone}
    for item in items:  # some are named by the call instead
        if item.kind == "result" and item.path in paths and data.draw(st.booleans()):
            call = next(each for each in items if each.kind == "call" and each.call_id == item.call_id)
            paths = paths - {item.path} | {call.path}
    made = rewritten(dialect, body, Rewrite(exclude=frozenset(paths)))
    assert json.dumps(made) == json.dumps(written(dialect, without(talk, gone)))
    assert json.dumps(body) == before
    calls, results = calls_and_results(dialect, made)
    assert calls == results or sorted(calls) == sorted(results)


@given(dialect=dialects, talk=talks(), data=st.data())
def test_a_masked_or_edited_text_is_the_only_one_that_changes(
    dialect: DialectName, talk: Talk, data: st.DataObject
) -> None:
    changed = data.draw(st.sets(st.sampled_from(texts_in(talk)), min_size=1))
    body = written(dialect, talk)
    items = items_in(dialect, body)
    texts = {path_of(items, text): f"other words for {text}" for text in changed}
    made = rewritten(dialect, body, Rewrite(mask=texts) if data.draw(st.booleans()) else Rewrite(texts=texts))
    expected = json.dumps(body)
    for text in changed:
        expected = expected.replace(f'"{text}"', f'"other words for {text}"')
    assert json.dumps(made) == expected
    assert [text_of(each.content) for each in read_request(dialect, made) if isinstance(each, ToolResult)] == [
        texts.get(item.path, item.text) for item in items if item.kind == "result"
    ]


@given(dialect=dialects, talk=talks(), data=st.data())
def test_whatever_is_named_is_left_out_whole_or_refused(dialect: DialectName, talk: Talk, data: st.DataObject) -> None:
    body = written(dialect, talk)
    items = items_in(dialect, body)
    named = data.draw(st.sets(st.sampled_from([item.path for item in items])))
    try:
        made = rewritten(dialect, body, Rewrite(exclude=frozenset(named)))
    except Refused:
        last = items[-1].path if items[-1].path.count(".") == 1 else items[-1].path.rpartition(".")[0]
        kinds = {item.kind for item in items if item.path in named}
        assert "reasoning" in kinds or any(path.startswith(last) for path in named)
        return
    calls, results = calls_and_results(dialect, made)
    assert sorted(calls) == sorted(results)
    left = {item.text for item in items_in(dialect, made)}
    assert left.isdisjoint(item.text for item in items if item.path in named and item.kind != "call")
    thoughts = [item for item in items if item.kind == "reasoning"]
    assert all(item.text not in left for item in thoughts if item.path in named)


def texts_of(body: Body) -> list[str]:
    """What an event says, part by part."""
    match body:
        case Reasoning(text=text) | ToolCall(arguments=text):
            return [text]
        case UserMessage(content=said) | AssistantMessage(content=said) | ToolResult(content=said):
            return [said] if isinstance(said, str) else [text_of((part,)) for part in said]
    return []


@given(dialect=dialects, talk=talks())
def test_items_are_what_the_request_says_in_its_order(dialect: DialectName, talk: Talk) -> None:
    body = written(dialect, talk)
    items = items_in(dialect, body)
    assert len({item.path for item in items}) == len(items)
    said = [item for item in items if item.kind not in ("system", "tool")]
    assert [item.text for item in said] == [text for each in read_request(dialect, body) for text in texts_of(each)]
    assert [item.call_id for item in items if item.kind == "result"] == calls_and_results(dialect, body)[1]
    assert all(item.tool in ("ls", "cat") for item in items if item.kind in ("call", "result"))


# Marks for the cache


def carriers(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """What can have a mark, in the order of the provider's cache, by its text."""
    for tool in body.get("tools", []):
        yield "tool", tool
    for block in body.get("system", []):
        yield block["text"], block
    for message in body["messages"]:
        said = message["content"]
        if isinstance(said, str):
            yield said, None
            continue
        for block in said or ():
            match block.get("type"):
                case "text":
                    yield block["text"], block
                case "tool_use":
                    yield f"call {block['id']}", block
                case "tool_result":
                    yield f"answer {block['tool_use_id']}", block


@given(dialect=st.sampled_from(["chat", "anthropic"]), talk=talks(), data=st.data())
def test_marks_stay_or_go_to_what_is_left_before_them(dialect: DialectName, talk: Talk, data: st.DataObject) -> None:
    body = written(dialect, talk)
    can = [(name, block) for name, block in carriers(body) if block is not None]
    marked = data.draw(st.sets(st.sampled_from([name for name, _ in can]), max_size=4))
    for name, block in can:
        if name in marked:
            block["cache_control"] = MARK
    order = [name for name, _ in carriers(body)]
    items = items_in(dialect, body)
    gone = data.draw(st.sets(st.sampled_from(texts_in(talk))))
    made = rewritten(dialect, body, Rewrite(exclude=frozenset(path_of(items, text) for text in gone)))
    left = dict(carriers(made))
    expected = set()
    for name in marked:
        before = [each for each in order[: order.index(name) + 1] if each in left]
        expected |= set(before[-1:])
    assert {name for name, block in left.items() if block and "cache_control" in block} == expected


def test_a_mark_inside_a_result_stays_when_it_is_masked() -> None:
    part = {"type": "text", "text": "long"}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [part, {**part, "cache_control": MARK}]}
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]},
        {"role": "user", "content": [result]},
        {"role": "user", "content": "go on"},
    ]
    made = rewritten("anthropic", {"messages": messages}, Rewrite(mask={"messages.1.0": "gone"}))
    masked = {"type": "text", "text": "gone", "cache_control": MARK}
    assert made["messages"][1]["content"] == [{**result, "content": [masked]}]


def test_a_mark_goes_to_a_system_prompt_that_is_a_text() -> None:
    said = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    body = {"system": "be brief", "messages": [{"role": "user", "content": said}, {"role": "user", "content": "go on"}]}
    made = rewritten("anthropic", body, Rewrite(exclude=frozenset({"messages.0"})))
    assert made["system"] == [{"type": "text", "text": "be brief", "cache_control": said[0]["cache_control"]}]
    assert made["messages"] == body["messages"][1:]


# What is refused, and what else can be changed

OPEN: dict[DialectName, list[Any]] = {
    "chat": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{}"}}]}],
    "anthropic": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]}],
    "responses": [{"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}],
    "gemini": [{"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}],
    "ollama": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls", "arguments": {}}}]}],
}


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_an_open_call_and_the_last_message_stay(dialect: DialectName) -> None:
    body = written(dialect, (Said(("go on",)),))
    key = next(key for key in ("messages", "input", "contents") if key in body)
    body[key] = [*OPEN[dialect], *body[key]]
    items = items_in(dialect, body)
    [call] = [item for item in items if item.kind == "call"]
    with pytest.raises(Refused, match="no result yet"):
        rewritten(dialect, body, Rewrite(exclude=frozenset({call.path})))
    last = path_of(items, "go on")
    for change in (Rewrite(exclude=frozenset({last})), Rewrite(mask={last: "x"})):
        with pytest.raises(Refused, match="last message"):
            rewritten(dialect, body, change)
    edited = rewritten(dialect, body, Rewrite(texts={last: "stop"}))
    assert json.dumps(edited) == json.dumps(body).replace("go on", "stop")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Rewrite(exclude=frozenset({"messages.99"})), "nothing there"),
        (Rewrite(mask={"messages.1": "x"}), "several things; name one, such as messages.1.0"),
        (Rewrite(texts={"messages.1.0": "x"}), "not a reasoning"),
        (Rewrite(texts={"messages.1.2": "x"}), "not a call"),
        (Rewrite(texts={"messages.0": " "}), "no text"),
        (Rewrite(exclude=frozenset({"messages.1.0"})), "thought leaves only with"),
        (Rewrite(parameters={"messages": []}), "no parameter"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(change: Rewrite, said: str) -> None:
    reply = Reply("hm", "well", (Call("c", "ls", False, "a.py"),))
    body = written("anthropic", (Said(("look",)), reply, Said(("go on",))))
    with pytest.raises(WorkbenchError, match=said):
        rewritten("anthropic", body, change)


def test_model_and_parameters_change_and_none_removes_one() -> None:
    body = {"model": "a", "max_tokens": 5, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    made = rewritten("anthropic", body, Rewrite(model="b", parameters={"stream": None, "max_tokens": 7}))
    assert made == {"model": "b", "max_tokens": 7, "messages": body["messages"]}
    assert rewritten("gemini", {"contents": []}, Rewrite(model="b")) == {"contents": []}


def test_without_tools_there_is_no_choice_of_them() -> None:
    body = {**written("chat", (Said(("hi",)),)), "tool_choice": "auto", "n": 1}
    made = rewritten("chat", body, Rewrite(exclude=frozenset({"tools"})))
    assert made == {key: value for key, value in body.items() if key not in ("tools", "tool_choice")}


def test_a_tool_inside_a_namespace_is_left_out_alone() -> None:
    tools = [{"type": "function", "name": name} for name in ("a", "b")]
    body = {"tools": [{"type": "namespace", "name": "files", "tools": tools}], "input": "hi"}
    made = rewritten("responses", body, Rewrite(exclude=frozenset({"tools.0.1"})))
    assert made == {"tools": [{"type": "namespace", "name": "files", "tools": tools[:1]}], "input": "hi"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "type", "text", "cache_control", "role", "parts", "tool_calls", "functionCall"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)
places = st.sampled_from(["system", "instructions", "systemInstruction", "tools", "messages", "input", "contents"])


@given(dialect=dialects, body=st.dictionaries(places, values | st.lists(values)), data=st.data())
def test_no_body_breaks_it_and_all_items_can_be_named(
    dialect: DialectName, body: dict[str, Any], data: st.DataObject
) -> None:
    before = json.dumps(body)
    items = items_in(dialect, body)
    assume(items)
    assert len({item.path for item in items}) == len(items)
    named = data.draw(st.sets(st.sampled_from([item.path for item in items])))
    edited = data.draw(st.dictionaries(st.sampled_from([item.path for item in items]), st.text(max_size=3)))
    with suppress(Refused, WrongCall):
        json.dumps(rewritten(dialect, body, Rewrite(exclude=frozenset(named), texts=edited)))
    assert json.dumps(body) == before


def test_a_call_in_the_older_form_is_an_item_with_its_arguments() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": '{"path": "."}'}}
    [item] = items_in("chat", {"messages": [call]})
    assert (item.kind, item.text, item.tool) == ("call", '{"path": "."}', "ls")
