"""Calls of a model as tracers record them: what was asked and answered, in any format, joined to conversations.

A tracer keeps neither the bytes nor all parameters of a request: these requests are not exact, and are inferred from
the conversation like those of other transcripts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.log.events import ToolCall, ToolResult
from workbench.models.reply_parts import ReportedUsage
from workbench.traces.building import Builder
from workbench.traces.exchanges import exchange_threads, joined_threads, thread_conversation
from workbench.traces.reading import Document
from workbench.traces.request_thread import Exchange
from workbench.wire.dialect import Dialect
from workbench.wire.dialects import DEFAULT, DIALECTS
from workbench.wire.parts import split_body
from workbench.wire.values import dict_in, json_text, list_in, text_in

_ITEMS = ("function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output")


_NOTHING: Final = ReportedUsage(0, 0)


class LlmCall(Struct, frozen=True):
    asked: Any
    """Messages, a body with messages or items, or a text."""
    answered: Any
    """A message, a provider's answer, a list of messages, or a text."""
    model: str = ""
    at: int = 0
    tokens: ReportedUsage = _NOTHING
    system: str = ""
    tools: tuple[Any, ...] = ()
    group: str = ""
    """The group of the call: calls of two groups are one conversation only if both may be joined."""
    may_join: bool = False
    """Whether its group is only a trace, whose conversation another trace may continue."""
    sub_agent: str = ""
    """The name of the sub-agent that called; empty for the agent itself."""


class ToolRun(Struct, frozen=True):
    call_id: str
    tool: str
    arguments: Any
    result: Any
    at: int = 0
    failed: bool = False
    group: str = ""


def conversations_of_calls(
    document: Document, name: str, calls: Iterable[LlmCall], runs: Iterable[ToolRun], entries: int
) -> list[Builder]:
    """The conversations of the calls, with results of tools that no later call has.

    Raises WrongCall for a trace whose `entries` have neither messages nor tools.
    """
    made = {exchange: call for call in sorted(calls, key=_began) if (exchange := exchange_of_call(call)) is not None}
    groups: dict[str, list[Exchange]] = {}
    for exchange, call in made.items():
        groups.setdefault(call.group, []).append(exchange)
    threads = [thread for exchanges in groups.values() for thread in exchange_threads(exchanges)]
    open_ = [thread for thread in threads if made[thread[0]].may_join]
    threads = [*(thread for thread in threads if not made[thread[0]].may_join), *joined_threads(open_)]
    tools: dict[str, list[ToolRun]] = {}
    for run in sorted(runs, key=_began):
        tools.setdefault(run.group, []).append(run)
    found = []
    for thread in sorted(threads, key=lambda thread: thread[0].at):
        builder = thread_conversation(thread, name)
        builder.bodies.sub_agent = made[thread[0]].sub_agent
        here = dict.fromkeys(made[exchange].group for exchange in thread)
        _add_missing(builder, [run for group in here for run in tools.get(group, [])])
        found.append(builder)
    for group, alone in tools.items():
        if group not in groups:
            found.append(Builder(name))
            _add_runs(found[-1], alone)
    if not found:
        raise WrongCall(f"{document.name}: {name}, but none of {entries:,} entries holds messages or calls of tools")
    found[0].skipped(document.broken)
    return found


def _began(each: LlmCall | ToolRun) -> int:
    return each.at


def _add_runs(builder: Builder, runs: list[ToolRun]) -> None:
    """Add the tool runs, if nothing else is known of the conversation."""
    for number, run in enumerate(runs, 1):
        builder.when(run.at)
        builder.call(run.call_id or f"call_{number}", run.tool, run.arguments, f"r{number}")
        builder.result(run.call_id or f"call_{number}", _text(run.result), run.failed)


def _add_missing(builder: Builder, runs: list[ToolRun]) -> None:
    """Add results of calls that no request has, because the call was in the last answer."""
    done = {body.call_id for body in builder.bodies if isinstance(body, ToolResult)}
    waiting = [body for body in builder.bodies if isinstance(body, ToolCall) and body.call_id not in done]
    by_id = {run.call_id: run for run in runs if run.call_id}
    for name in dict.fromkeys(call.tool for call in waiting):
        calls = [call for call in waiting if call.tool == name]
        unnamed = [run for run in runs if run.tool == name and not run.call_id][-len(calls) :]
        for call in calls:
            run = by_id.get(call.call_id) or (unnamed.pop(0) if unnamed else None)
            if run is not None:
                builder.when(run.at)
                builder.result(call.call_id, _text(run.result), run.failed, run.tool)


def _text(value: Any) -> str:
    return json_text(value if value is not None else "")


def exchange_of_call(call: LlmCall) -> Exchange | None:
    """A call as a request and its answer, in the dialect of its messages; None if it has no messages."""
    body = _body(call)
    if body is None:
        return None
    dialect = next((each for each in DIALECTS.values() if each.recognises_body(body)), DEFAULT)
    body = dialect.body_with_prompt(body, call.system) if call.system else body
    answer = _answer(dialect, call.answered, call.tokens)
    return Exchange(dialect.name, body, answer, call.model, call.at, split_body(dialect.name, body), is_exact=False)


def _body(call: LlmCall) -> dict[str, Any] | None:
    asked = call.asked
    found: dict[str, Any] = {"model": call.model}
    if isinstance(asked, dict) and isinstance(asked.get("messages"), list | dict | str):
        found |= {key: asked[key] for key in ("system", "tools") if asked.get(key)}
        asked = asked["messages"]
    elif isinstance(asked, dict) and isinstance(asked.get("input"), list | str):
        found |= {key: asked[key] for key in ("instructions", "tools") if asked.get(key)}
        asked = asked["input"] if isinstance(asked["input"], list) else [{"role": "user", "content": asked["input"]}]
    messages = _messages(asked)
    if not messages:
        return None
    tools = list(call.tools) or list_in(found, "tools")
    found |= {"tools": tools} if tools else {}
    if any(text_in(each, "type") in _ITEMS for each in messages) or (call.system and _is_response(call.answered)):
        return {**found, "input": messages}
    return {**found, "messages": messages}


def _messages(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value else []
    if isinstance(value, dict):
        value = [value]
    found = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    return [each for each in found if text_in(each, "role") or text_in(each, "type") in _ITEMS]


def _is_response(answered: Any) -> bool:
    return isinstance(dict_in({"": answered}, "").get("output"), list)


def _answer(dialect: Dialect, answered: Any, tokens: ReportedUsage) -> dict[str, Any]:
    if isinstance(answered, dict) and ("choices" in answered or isinstance(answered.get("output"), list)):
        answer = dict(answered)
    else:
        answer = dialect.answer_with(_model_message(answered))
    return {**answer, **dialect.usage_json(tokens)} if tokens.prompt or tokens.completion else answer


def _one_message(models: list[dict[str, Any]]) -> dict[str, Any]:
    """The messages of an answer as one: some tracers write its text and its calls as two."""
    calls = [call for each in models for call in list_in(each, "tool_calls")]
    texts = [each["content"] for each in models if each.get("content")]
    content: Any = texts[-1] if texts else None
    if len(texts) > 1 and all(isinstance(each, str) for each in texts):
        content = [{"type": "text", "text": each} for each in texts]
    return {**models[-1], "content": content, **({"tool_calls": calls} if calls else {})}


def _model_message(value: Any) -> dict[str, Any]:
    """The model's message in the answer."""
    if isinstance(value, str):
        return {"role": "assistant", "content": value} if value else {}
    if isinstance(value, list):
        found = [each for each in value if isinstance(each, dict)]
        models = [each for each in found if text_in(each, "role") == "assistant"]
        if models:
            return _one_message(models)
        return {"role": "assistant", "content": found} if found else {}
    if isinstance(value, dict) and ("content" in value or "tool_calls" in value):
        return {**value, "role": "assistant"}
    places = ("message", "messages", "text") if isinstance(value, dict) else ()
    inner = next((each for key in places if (each := value.get(key))), None)
    return (
        _model_message(inner)
        if inner is not None
        else {"role": "assistant", "content": json_text(value)}
        if value
        else {}
    )
