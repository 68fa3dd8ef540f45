"""Requests of random conversations, written in any of the dialects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from workbench.config.values import replace
from workbench.log.events import DialectName


@dataclass(frozen=True)
class Call:
    """A call with its result; a result as text or as a list of parts."""

    name: str
    tool: str
    listed: bool
    result: str


@dataclass(frozen=True)
class Reply:
    """What the model said in one go."""

    thinking: str
    text: str
    calls: tuple[Call, ...]
    listed: bool = False


@dataclass(frozen=True)
class Said:
    """What the user said: texts of one message."""

    texts: tuple[str, ...]
    listed: bool = False


Talk = tuple[Reply | Said, ...]


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Turns, in which each text is another one; the last message is the user's."""
    number = iter(range(1000))

    def call() -> Call:
        name = f"c{next(number)}"
        return Call(name, draw(st.sampled_from(["ls", "cat"])), draw(st.booleans()), f"result {name}")

    def reply(least: int) -> Reply:
        calls = tuple(call() for _ in range(draw(st.integers(least, 3))))
        text = f"said {next(number)}" if draw(st.booleans()) or not calls else ""
        thinking = f"thought {next(number)}" if draw(st.booleans()) else ""
        return Reply(thinking, text, calls, draw(st.booleans()))

    def said() -> Said:
        return Said(tuple(f"user {next(number)}" for _ in range(draw(st.integers(1, 2)))), draw(st.booleans()))

    made: list[Reply | Said] = []
    for _ in range(draw(st.integers(1, 4))):
        made += [said(), *(reply(1) for _ in range(draw(st.integers(0, 2))))]
        if draw(st.booleans()):
            made.append(replace(reply(0), calls=()))
    last = made[-1]
    if isinstance(last, Reply) and not last.text:
        made[-1] = replace(last, text=f"said {next(number)}")
    return (*made, said())


def content(texts: tuple[str, ...], listed: bool, kind: str = "text") -> Any:
    """A message's content: a text, or a list of parts."""
    if len(texts) == 1 and not listed:
        return texts[0]
    return [{"type": kind, "text": text} for text in texts]


def written(dialect: DialectName, talk: Talk) -> dict[str, Any]:
    """The request of a talk."""
    messages: list[Any] = []
    for step in talk:
        if isinstance(step, Said):
            messages += _said(dialect, step)
        elif step.text or step.calls:
            messages += _reply(dialect, step)
    function = {"name": "ls", "parameters": {"type": "object"}}
    match dialect:
        case "chat":
            tools = [{"type": "function", "function": function}]
            return {"model": "m", "tools": tools, "messages": [{"role": "system", "content": "be brief"}, *messages]}
        case "anthropic":
            tools = [{"name": "ls", "input_schema": {"type": "object"}}]
            return {
                "model": "m",
                "tools": tools,
                "system": [{"type": "text", "text": "be brief"}],
                "messages": messages,
            }
        case "responses":
            tools = [{"type": "function", **function}]
            return {"model": "m", "tools": tools, "instructions": "be brief", "input": messages}
        case "gemini":
            system = {"parts": [{"text": "be brief"}]}
            return {"contents": messages, "tools": [{"functionDeclarations": [function]}], "systemInstruction": system}
        case "ollama":
            tools = [{"type": "function", "function": function}]
            messages = [{"role": "system", "content": "be brief"}, *messages]
            return {"model": "m", "tools": tools, "options": {"num_ctx": 8192}, "messages": messages}
    raise AssertionError(f"no such dialect: {dialect}")


def _said(dialect: DialectName, said: Said) -> list[Any]:
    if not said.texts:
        return []
    if dialect == "gemini":
        return [{"role": "user", "parts": [{"text": text} for text in said.texts]}]
    if dialect == "ollama":
        return [{"role": "user", "content": text} for text in said.texts]
    kind = "input_text" if dialect == "responses" else "text"
    return [{"role": "user", "content": content(said.texts, said.listed, kind)}]


def _reply(dialect: DialectName, reply: Reply) -> list[Any]:
    texts = (reply.text,) if reply.text else ()
    match dialect:
        case "chat":
            calls = [
                {"id": each.name, "type": "function", "function": {"name": each.tool, "arguments": "{}"}}
                for each in reply.calls
            ]
            message = {"role": "assistant", "content": content(texts, reply.listed) if texts else None}
            message |= {"reasoning_content": reply.thinking} if reply.thinking else {}
            results = [
                {"role": "tool", "tool_call_id": each.name, "content": content((each.result,), each.listed)}
                for each in reply.calls
            ]
            return [{**message, **({"tool_calls": calls} if calls else {})}, *results]
        case "anthropic":
            thought = [{"type": "thinking", "thinking": reply.thinking, "signature": "s"}] if reply.thinking else []
            calls = [{"type": "tool_use", "id": each.name, "name": each.tool, "input": {}} for each in reply.calls]
            blocks = [*thought, *content(texts, True), *calls]
            answers = [
                {"type": "tool_result", "tool_use_id": each.name, "content": content((each.result,), each.listed)}
                for each in reply.calls
            ]
            return [
                {"role": "assistant", "content": blocks},
                *([{"role": "user", "content": answers}] if answers else []),
            ]
        case "responses":
            thoughts = [{"type": "summary_text", "text": reply.thinking}]
            items: list[Any] = [{"type": "reasoning", "summary": thoughts}] if reply.thinking else []
            if texts:
                said = content(texts, True, "output_text")
                items.append({"type": "message", "role": "assistant", "content": said})
            for each in reply.calls:
                items.append({"type": "function_call", "call_id": each.name, "name": each.tool, "arguments": "{}"})
            for each in reply.calls:
                output = content((each.result,), each.listed, "input_text")
                items.append({"type": "function_call_output", "call_id": each.name, "output": output})
            return items
        case "gemini":
            parts: list[Any] = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
            parts += [{"text": text} for text in texts]
            parts += [{"functionCall": {"name": each.tool, "args": {}}} for each in reply.calls]
            given = [
                {"functionResponse": {"name": each.tool, "response": {"output": each.result}}} for each in reply.calls
            ]
            return [{"role": "model", "parts": parts}, *([{"role": "user", "parts": given}] if given else [])]
        case "ollama":
            message = {"role": "assistant", "content": reply.text}
            message |= {"thinking": reply.thinking} if reply.thinking else {}
            calls = [{"function": {"name": each.tool, "arguments": {}}} for each in reply.calls]
            results = [{"role": "tool", "tool_name": each.tool, "content": each.result} for each in reply.calls]
            return [{**message, **({"tool_calls": calls} if calls else {})}, *results]
    raise AssertionError(f"no such dialect: {dialect}")
