"""OpenAI-style messages: a JSON list, `{"messages": [...], "tools": [...]}`, or JSON lines of either.

Trajectories of mini-swe-agent are such objects: their model is in `info.config.model.model_name`, the whole answer to
each request in `extra.response`, with its usage and time, and newer ones end with a message of the role `exit`, which
no model saw and which is kept as unknown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from workbench.config.text import without_surrogates
from workbench.log.events import (
    SlotContent,
)
from workbench.traces.building import Builder, Recording
from workbench.traces.reading import Document, Located, bad_file, list_elements
from workbench.wire.chat import ChatReader, Malformed, chat_usage
from workbench.wire.values import dict_in, text_in

SHAPE = 'a list of messages, an object with "messages", or JSON lines of messages'

_SAYING = frozenset({"content", "tool_calls", "function_call"})


def recognises(document: Document) -> bool:
    """Whether a file has one of the shapes; `openai_conversations` reports what is wrong inside."""
    first = document.values[0].value
    if isinstance(first, list):
        return not first or any(_is_message(value) for value in first[:40])
    return isinstance(first, dict) and ("messages" in first or _is_message(first))


def _is_message(value: Any) -> bool:
    """Whether it has a role with content in OpenAI's place; other agents have it one level deeper."""
    return isinstance(value, dict) and "role" in value and not _SAYING.isdisjoint(value)


def openai_conversations(document: Document, text: str, agent: str = "") -> list[Recording]:
    """The conversations of a file; more than one only if its lines are `{"messages": ...}` objects.

    `agent`: the agent that wrote the messages, if known.
    """
    first = document.values[0]
    if document.lines:
        if all(isinstance(each.value, dict) and "messages" in each.value for each in document.values):
            return [_from_object(document.name, each, None) for each in document.values]
        return [_messages(document.name, document.values)]
    if isinstance(first.value, list):
        return [_messages(document.name, list_elements(text))]
    if isinstance(first.value, dict) and "messages" in first.value:
        if not isinstance(first.value["messages"], list):
            raise bad_file(document.name, first.line, 'a list under "messages"', first.value["messages"])
        return [_from_object(document.name, first, list_elements(text, "messages"), agent)]
    if isinstance(first.value, dict) and "role" in first.value:
        return [_messages(document.name, [first])]
    raise bad_file(document.name, first.line, SHAPE)


def _from_object(name: str, located: Located, messages: list[Located] | None, agent: str = "") -> Recording:
    value = located.value
    if messages is None:
        if not isinstance(value["messages"], list):
            raise bad_file(name, located.line, 'a list under "messages"', value["messages"])
        messages = [Located(located.line, message) for message in value["messages"]]
    tools = value.get("tools") or []
    if not isinstance(tools, list):
        raise bad_file(name, located.line, 'a list under "tools"', tools)
    definitions = [_tool(name, located.line, tool) for tool in tools]
    for number, definition in enumerate(definitions):
        if definition.name in {other.name for other in definitions[:number]}:
            raise bad_file(name, located.line, "tools with a name of their own", definition.name)
    model = text_in(value, "model") or text_in(dict_in(dict_in(value.get("info"), "config"), "model"), "model_name")
    builder = Builder(agent)
    builder.says_model(model)
    builder.add(*definitions)
    return _messages(name, messages, builder)


def _tool(name: str, line: int, tool: Any) -> SlotContent:
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise bad_file(name, line, 'a tool definition with a "name"', tool)
    return SlotContent(
        "tools", without_surrogates(function["name"]), without_surrogates(json.dumps(tool, ensure_ascii=False))
    )


def _messages(name: str, located: Sequence[Located], builder: Builder | None = None) -> Recording:
    builder = builder or Builder("")
    reader = ChatReader(builder)
    for line, value in located:
        if text_in(value, "role") == "exit":
            builder.unknown("exit", value)
            continue
        extra = dict_in(value, "extra")
        builder.when(extra.get("timestamp") or dict_in(extra, "response").get("created"))
        try:
            reader.read_checked_message(value)
        except Malformed as error:
            raise bad_file(name, line, error.expected, error.got) from None
        used = chat_usage(dict_in(dict_in(extra, "response"), "usage"), builder.model)
        if used is not None:
            builder.add(used)
    return builder.finish()
