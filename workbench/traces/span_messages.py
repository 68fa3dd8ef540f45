"""The messages, tools and tokens of a call from the attributes of its span, as OpenAI's chat has them."""

from __future__ import annotations

from typing import Any

from workbench.models.reply_parts import ReportedUsage
from workbench.traces.span_attributes import attributes_of, numbered_objects
from workbench.wire.values import dict_in, json_text, list_in, number_in, parsed, text_in

_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "",
}


def messages_in(span: dict[str, Any], attributes: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What was asked and what was answered in a call."""
    for event in (span, *list_in(span, "events")):
        values = attributes if event is span else attributes_of(event) if isinstance(event, dict) else {}
        asked, answered = _listed(values, "gen_ai.input.messages"), _listed(values, "gen_ai.output.messages")
        if asked or answered:
            return _from_parts(asked), _from_parts(answered)
    asked = [_openinference(each) for each in numbered_objects(attributes, "llm.input_messages")]
    answered = [_openinference(each) for each in numbered_objects(attributes, "llm.output_messages")]
    if asked or answered:
        return asked, answered
    asked = [_traceloop(each) for each in numbered_objects(attributes, "gen_ai.prompt")]
    answered = [{**_traceloop(each), "role": "assistant"} for each in numbered_objects(attributes, "gen_ai.completion")]
    if asked or answered:
        return asked, answered
    if "ai.prompt.messages" in attributes:
        return _of_ai_sdk(attributes)
    return _from_events(span) if list_in(span, "events") else _from_values(attributes)


def _of_ai_sdk(attributes: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What Vercel's AI SDK writes: its own messages, and the text and calls of the answer."""
    asked: list[Any] = []
    for message in _listed(attributes, "ai.prompt.messages"):
        parts = list_in(message, "content") or [{"type": "text", "text": text_in(message, "content")}]
        results = [part for part in parts if text_in(part, "type") == "tool-result"]
        for part in results:
            given = part.get("output", part.get("result"))
            given = given.get("value", given) if isinstance(given, dict) else given
            asked.append({"role": "tool", "tool_call_id": text_in(part, "toolCallId"), "content": json_text(given)})
        others = [_sdk_part(part) for part in parts if part not in results]
        if others:
            asked.append(_of_parts(text_in(message, "role"), others))
    answered = [each for each in _listed(attributes, "ai.response.toolCalls") if isinstance(each, dict)]
    calls = [_sdk_part({**each, "type": "tool-call"}) for each in answered]
    text = text_in(attributes, "ai.response.text")
    answered = [*([{"type": "text", "content": text}] if text else []), *calls]
    return asked, [_of_parts("assistant", answered)] if answered else []


def _sdk_part(part: Any) -> Any:
    """A part of the AI SDK's in the format of the GenAI conventions."""
    kind = text_in(part, "type")
    if kind == "tool-call":
        called = {"type": "tool_call", "id": text_in(part, "toolCallId"), "name": text_in(part, "toolName")}
        return {**called, "arguments": parsed(part.get("input", part.get("args")))}
    if kind == "reasoning":
        return {"type": "reasoning", "content": text_in(part, "text")}
    return part


def _listed(attributes: dict[str, Any], key: str) -> list[Any]:
    found = parsed(attributes.get(key))
    return found if isinstance(found, list) else []


def _from_parts(messages: list[Any]) -> list[Any]:
    """Messages of the GenAI conventions; results of tools are their own messages."""
    found: list[Any] = []
    for message in messages:
        role, parts = text_in(message, "role") or "assistant", list_in(message, "parts")
        if not parts:
            found += [message] if isinstance(message, dict) and "content" in message else []
            continue
        results = [part for part in parts if text_in(part, "type") == "tool_call_response"]
        for part in results:
            given = next((part[key] for key in ("response", "result", "content") if key in part), "")
            found.append({"role": "tool", "tool_call_id": text_in(part, "id"), "content": json_text(given)})
        others = [part for part in parts if part not in results]
        if others or not results:
            found.append(_of_parts(role, others))
    return found


def _of_parts(role: str, parts: list[Any]) -> dict[str, Any]:
    thoughts = [text_in(part, "content") for part in parts if text_in(part, "type") in ("reasoning", "thinking")]
    calls = [_call(part) for part in parts if text_in(part, "type") == "tool_call"]
    known = ("reasoning", "thinking", "tool_call")
    content = [_content(part) for part in parts if text_in(part, "type") not in known]
    message: dict[str, Any] = {"role": "assistant" if role == "model" else role, "content": content or None}
    if len(content) == 1 and text_in(content[0], "type") == "text":
        message["content"] = content[0]["text"]
    message |= {"tool_calls": calls} if calls else {}
    return {**message, "reasoning_content": "\n\n".join(thoughts)} if any(thoughts) else message


def _content(part: Any) -> Any:
    if text_in(part, "type") == "text":
        return {"type": "text", "text": text_in(part, "content") or text_in(part, "text")}
    if text_in(part, "modality") == "image" and text_in(part, "type") in ("uri", "blob"):
        inline = f"data:{text_in(part, 'mime_type') or 'image/png'};base64,{text_in(part, 'content')}"
        return {"type": "image_url", "image_url": {"url": text_in(part, "uri") or inline}}
    return part if isinstance(part, dict) and text_in(part, "type") else {"type": "text", "text": json_text(part)}


def _call(part: Any) -> dict[str, Any]:
    arguments = part.get("arguments")
    function = {"name": text_in(part, "name"), "arguments": json_text({} if arguments is None else arguments)}
    return {"id": text_in(part, "id"), "type": "function", "function": function}


def _openinference(value: dict[str, Any]) -> dict[str, Any]:
    parts = [_part(each) for each in numbered_objects(value, "message.contents")]
    message: dict[str, Any] = {"role": text_in(value, "message.role") or "user"}
    message["content"] = value.get("message.content") if value.get("message.content") is not None else parts or None
    calls = []
    for each in numbered_objects(value, "message.tool_calls"):
        arguments = each.get("tool_call.function.arguments")
        function = {"name": text_in(each, "tool_call.function.name"), "arguments": json_text(arguments or "{}")}
        calls.append({"id": text_in(each, "tool_call.id"), "type": "function", "function": function})
    message |= {"tool_calls": calls} if calls else {}
    message |= {"tool_call_id": value["message.tool_call_id"]} if "message.tool_call_id" in value else {}
    return _with_text(message)


def _part(value: dict[str, Any]) -> dict[str, Any]:
    image = text_in(value, "message_content.image.image.url")
    if image:
        return {"type": "image_url", "image_url": {"url": image}}
    return {"type": "text", "text": json_text(value.get("message_content.text") or "")}


def _traceloop(value: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": text_in(value, "role") or "user", "content": parsed(value.get("content"))}
    calls = [
        {
            "id": text_in(each, "id"),
            "type": "function",
            "function": {"name": text_in(each, "name"), "arguments": json_text(each.get("arguments") or "{}")},
        }
        for each in numbered_objects(value, "tool_calls")
    ]
    message |= {"tool_calls": calls} if calls else {}
    message |= {"tool_call_id": value["tool_call_id"]} if "tool_call_id" in value else {}
    return _with_text(message)


def _with_text(message: dict[str, Any]) -> dict[str, Any]:
    """A message with a content that OpenAI has: text, parts or nothing."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and text_in(content[0], "type") == "text":
        return {**message, "content": text_in(content[0], "text")}
    fits = content is None or isinstance(content, str)
    fits = fits or (isinstance(content, list) and all(isinstance(each, dict) and "type" in each for each in content))
    return message if fits else {**message, "content": json_text(content)}


def _from_events(span: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    asked: list[Any] = []
    answered: list[Any] = []
    for event in list_in(span, "events"):
        name = text_in(event, "name")
        if name not in _EVENTS:
            continue
        values = attributes_of(event) if isinstance(event, dict) else {}
        body = parsed(values.get("body")) if "body" in values else values
        body = body if isinstance(body, dict) else {}
        message = parsed(body.get("message")) if name == "gen_ai.choice" else body
        message = message if isinstance(message, dict) else {"content": json_text(message or "")}
        calls = parsed(message.get("tool_calls"))
        made: dict[str, Any] = {"role": _EVENTS[name] or "assistant", "content": message.get("content")}
        made |= {"tool_calls": calls} if isinstance(calls, list) and calls else {}
        made |= {"tool_call_id": text_in(message, "id")} if name == "gen_ai.tool.message" else {}
        (answered if name == "gen_ai.choice" else asked).append(_with_text(made))
    return asked, answered


def _from_values(attributes: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """OpenInference's fallback if the messages were left out: any input and output."""
    asked = parsed(attributes.get("input.value"))
    answered = parsed(attributes.get("output.value"))
    messages = list_in(asked, "messages")
    if messages and all(text_in(each, "role") for each in messages):
        return messages, [dict_in({"": answered}, "")] if isinstance(answered, dict) else []
    if not isinstance(asked, str) or not asked:
        return [], []
    spoken = [{"role": "assistant", "content": answered}] if isinstance(answered, str) and answered else []
    return [{"role": "user", "content": asked}], spoken


def instructions_in(attributes: dict[str, Any]) -> str:
    """The system prompt, if it is separate from the messages."""
    found = parsed(attributes.get("gen_ai.system_instructions"))
    if isinstance(found, list):
        return "\n\n".join(filter(None, (text_in(part, "content") or text_in(part, "text") for part in found)))
    return found if isinstance(found, str) else ""


def tools_in(attributes: dict[str, Any]) -> tuple[Any, ...]:
    found = parsed(attributes.get("gen_ai.tool.definitions"))
    listed = found if isinstance(found, list) else []
    listed = listed or [_schema(each) for each in numbered_objects(attributes, "llm.tools")]
    listed = listed or [_function(each) for each in numbered_objects(attributes, "llm.request.functions")]
    return tuple(_definition(each) for each in listed if isinstance(each, dict))


def _schema(value: dict[str, Any]) -> Any:
    found = parsed(value.get("tool.json_schema"))
    return found if isinstance(found, dict) else {"name": text_in(value, "tool.name")}


def _function(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "parameters": parsed(value.get("parameters"))}


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    if dict_in(tool, "function") or not text_in(tool, "name"):
        return tool
    schema = tool.get("parameters") or tool.get("input_schema")
    function = {"name": text_in(tool, "name"), "description": text_in(tool, "description")}
    return {"type": "function", "function": {**function, "parameters": schema if isinstance(schema, dict) else {}}}


def tokens_in(attributes: dict[str, Any]) -> ReportedUsage:
    """The report, in either convention; cached tokens are part of the input in both."""

    def count(*keys: str) -> int:
        return next((number for key in keys if (number := number_in(attributes, key))), 0)

    return ReportedUsage(
        count("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens"),
        count("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens"),
        count(
            "gen_ai.usage.cache_read.input_tokens",
            "llm.token_count.prompt_details.cache_read",
            "gen_ai.usage.cache_read_input_tokens",
        ),
        count(
            "gen_ai.usage.cache_creation.input_tokens",
            "llm.token_count.prompt_details.cache_write",
            "gen_ai.usage.cache_creation_input_tokens",
        ),
        count(
            "gen_ai.usage.reasoning.output_tokens",
            "llm.token_count.completion_details.reasoning",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
        ),
    )
