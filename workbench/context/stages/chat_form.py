"""Chat form: a request uses OpenAI's chat format, which does not accept everything that agents send.

Parts of unknown kinds, or not allowed in their role, are sent as the text they hold, or as a word that names them.
Pictures of a tool's result follow after the results, in a user message. A tool described in another format is described
as a function; one that only its provider runs is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.log.events import ImagePart, OtherPart, Part, TextPart, text_of

PICTURES_MOVED: Final = "a chat API takes no pictures in a result; they follow in a message of the user's"
PROVIDERS_OWN: Final = "its provider runs it, and a chat API takes only functions"
AS_FUNCTION: Final = "described as a function, as chat APIs have it"
_TAKEN: Final = ("input_audio", "file")
"""Other kinds of parts that a user's message may have; their data is under a key of the same name."""
_FORMATS: Final = ("wav", "mp3")
_TEXTS: Final = ("text", "content", "refusal", "thinking")
_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_TYPES: Final = {"name": str, "description": str, "strict": bool, "parameters": dict}


def chat_parts(content: tuple[Part, ...], role: str | None) -> tuple[tuple[Part, ...], str]:
    """The parts of a message as they are sent in that role, and what had to be changed."""
    sent = tuple(_chat_part(part, role) for part in content)
    changed = sorted({_kind(old) for old, new in zip(content, sent, strict=True) if old is not new})
    notes = [f"a chat API does not take {', '.join(changed)} here; sent as text"] if changed else []
    pictures = tuple(part for part in sent if isinstance(part, ImagePart)) if role == "tool" else ()
    if pictures:
        notes.append(PICTURES_MOVED)
        if not any(isinstance(part, TextPart) and part.text.strip() for part in sent):
            sent = (TextPart(text_of(pictures)), *sent)
    return sent, "; ".join(notes)


def _chat_part(part: Part, role: str | None) -> Part:
    match part:
        case ImagePart() if role not in ("user", "tool"):
            return TextPart(text_of((part,)))
        case OtherPart(data) if not (role == "user" and _is_taken(data)):
            return TextPart(_words(data) or text_of((part,)))
    return part


def _kind(part: Part) -> str:
    return str(part.data.get("type", "part")) if isinstance(part, OtherPart) else "image"


def _is_taken(data: Mapping[str, Any]) -> bool:
    kind = data.get("type")
    inside = data.get(kind) if kind in _TAKEN else None
    if not isinstance(inside, Mapping) or not all(isinstance(value, str) for value in inside.values()):
        return False
    if kind == "file":
        return bool(inside.get("file_id")) or str(inside.get("file_data")).startswith("data:")
    return inside.get("format") in _FORMATS and bool(inside.get("data"))


def _words(data: Mapping[str, Any]) -> str:
    """The text of a part, if it has any: a document, the results of a search, the name of a tool."""
    if isinstance(data.get("tool_name"), str):
        return f"[{data.get('type')}: {data['tool_name']}]"
    source = data.get("source")
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        return _words({"text": source.get("data"), "content": source.get("content")})
    for key in _TEXTS:
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list):
            joined = "\n".join(filter(None, (_words(each) for each in value if isinstance(each, Mapping))))
            if joined:
                return joined
    return ""


def chat_tool(definition: Any) -> tuple[dict[str, Any] | None, str]:
    """A tool as it is sent, and what had to be changed; None if it cannot be sent."""
    if not isinstance(definition, dict):
        return None, "its definition is no JSON object, which no provider takes"
    if definition.get("type") == "custom":
        return _free_text_tool(definition)
    function = definition.get("function", definition)
    named = isinstance(function, dict) and isinstance(function.get("name"), str) and function["name"]
    schema = next((function[key] for key in _SCHEMAS if isinstance(function.get(key), dict)), None) if named else None
    if not named or (function is definition and schema is None):
        return None, PROVIDERS_OWN
    wrong = any(not isinstance(function[key], kind) for key, kind in _TYPES.items() if key in function)
    if function is not definition and definition.get("type") == "function" and not wrong:
        return definition, ""
    kept = {key: function[key] for key, kind in _TYPES.items() if isinstance(function.get(key), kind)}
    shape = {} if schema is None else {"parameters": schema}
    return {"type": "function", "function": {**kept, **shape}}, AS_FUNCTION


def _free_text_tool(definition: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """A tool with free text as input, in the form of its calls: an object with the text under `input`."""
    custom = definition.get("custom", definition)
    if not isinstance(custom, dict) or not isinstance(custom.get("name"), str) or not custom["name"]:
        return None, PROVIDERS_OWN
    described = {"description": custom["description"]} if isinstance(custom.get("description"), str) else {}
    shape = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    function = {"name": custom["name"], **described, "parameters": shape}
    return {"type": "function", "function": function}, AS_FUNCTION
