"""Reads messages of any dialect into events, and remembers each as it was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.library.checks import check_message
from workbench.library.plain_values import bad_message, plain
from workbench.log.events import (
    AssistantMessage,
    Body,
    Reasoning,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
    text_of,
)
from workbench.wire.dialect import Dialect, DialectReader
from workbench.wire.dialects import DEFAULT, DIALECTS, answer_in_any, dialect_named, dialect_of_message
from workbench.wire.event_builder import EventBuilder
from workbench.wire.values import content_of

Message = Mapping[str, Any] | object
"""A dict in any dialect, or an object of a provider's SDK."""

SENDABLE: Final = (SystemMessage, UserMessage, AssistantMessage, ToolCall, ToolResult)


def known_dialect(name: str | None) -> Dialect | None:
    """A dialect by the name that a caller gave; None for None. Raises WrongCall for an unknown name."""
    if name is None:
        return None
    found = dialect_named(name) if isinstance(name, str) else None
    if found is None:
        names = ", ".join((each.also or (each.name,))[0] for each in DIALECTS.values())
        raise WrongCall(f"dialect: expected one of {names}, got {name!r}")
    return found


@dataclass(frozen=True, slots=True)
class GivenMessage:
    """A message as the caller gave it, and the events that it became."""

    value: dict[str, Any]
    dialect: Dialect | None
    """None: it fits several dialects, and takes the conversation's."""
    bodies: tuple[Body, ...]
    can_be_sent: tuple[bool, ...]
    """For each event: whether it is sent by itself. Thinking, and what is not understood, go with their reply."""


class MessageReader:
    """Reads the messages of one conversation, one by one."""

    def __init__(self, dialect: Dialect | None = None, likely: Dialect | None = None) -> None:
        """`likely`: the dialect until a message shows one."""
        self._asked = dialect
        self.run = ""
        """Distinguishes the replies from those that an earlier reader put into the same log."""
        self._builder = EventBuilder("")
        self._readers: dict[str, DialectReader] = {}
        self.dialect = dialect or likely or DEFAULT
        """The dialect of the conversation: the one asked for, else that of the last message that shows one."""

    def read_plain(self, value: Any, where: str) -> list[GivenMessage]:
        """Read a message that is a plain value already. It is kept as it is: nobody may change it later."""
        if isinstance(value, str):
            value = {"role": "user", "content": value}
        answer = answer_in_any(value) if isinstance(value, dict) else None
        if answer is None:
            return [self._one(value, where, None)]
        dialect, messages = answer
        return [self._one(each, f"{where}[{at}]", dialect) for at, each in enumerate(messages)]

    def _one(self, value: Any, where: str, dialect: Dialect | None) -> GivenMessage:
        check_message(value, where)
        shown = dialect or dialect_of_message(value)
        if shown is not None:
            self.dialect = self._asked or shown
        spoken = shown or self.dialect
        before = len(self._builder.bodies)
        self._reader(spoken).message(value)
        if shown is None and any(isinstance(body, Unknown) for body in self._builder.bodies[before:]):
            del self._builder.bodies[before:]
            shown = spoken = DEFAULT  # a plain message among those of a dialect that has another form
            self._reader(spoken).message(value)
        bodies = tuple(self._own_reply(body, spoken) for body in self._builder.bodies[before:])
        return GivenMessage(value, shown, bodies, tuple(isinstance(body, SENDABLE) for body in bodies))

    def _reader(self, dialect: Dialect) -> DialectReader:
        found = self._readers.get(dialect.name)
        if found is None:
            found = self._readers[dialect.name] = dialect.new_reader(self._builder)
        return found

    def _own_reply(self, body: Body, dialect: Dialect) -> Body:
        """Readers number the replies, each for itself: those of a second dialect get a name of their own."""
        if not isinstance(body, AssistantMessage | Reasoning | ToolCall) or not body.reply:
            return body
        second = "" if dialect.name == next(iter(self._readers)) else dialect.name
        marks = list(filter(None, (second, body.reply, self.run)))
        return replace(body, reply=" ".join(marks)) if len(marks) > 1 else body


def plain_messages(messages: Iterable[Message]) -> list[Any]:
    """Messages as plain values."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise bad_message("messages", "a list of messages", messages)
    return [plain(message, f"messages[{at}]") for at, message in enumerate(messages)]


def check_given(value: Any, where: str) -> None:
    """Raise BadMessage if a value is neither a message nor an answer that holds messages."""
    if isinstance(value, str):
        return
    answer = answer_in_any(value) if isinstance(value, dict) else None
    for at, each in enumerate(answer[1] if answer is not None else ()):
        check_message(each, f"{where}[{at}]")
    if answer is None:
        check_message(value, where)


def read_messages(messages: Iterable[Message], reader: MessageReader) -> list[GivenMessage]:
    """Read a list of messages. A message that fits several dialects is read in the one that the other messages show."""
    values = plain_messages(messages)
    shown = (dialect_of_message(each) for each in values if isinstance(each, dict) and answer_in_any(each) is None)
    reader.dialect = next((each for each in shown if each is not None), reader.dialect)
    return [given for at, value in enumerate(values) for given in reader.read_plain(value, f"messages[{at}]")]


def is_system(value: Any) -> bool:
    """Whether a message is the system's."""
    return isinstance(value, dict) and value.get("role") in ("system", "developer") and "parts" not in value


def system_text(value: dict[str, Any]) -> str:
    return text_of(content_of(value.get("content")))


# System prompt and tools


@dataclass(frozen=True, slots=True)
class GivenHead:
    """System prompt and tools as the caller gave them."""

    system: Any = None
    tools: tuple[dict[str, Any], ...] = ()
    dialect: Dialect | None = None
    """The dialect of all tools; None: that of OpenAI's chat, or several."""


def given_head(system: Any, tools: Sequence[Any] | None, before: GivenHead | None = None) -> GivenHead:
    """System prompt and tools to send as they are; None: those from before."""
    before = before or GivenHead()
    prompt = before.system if system is None else plain(system, "system")
    if tools is None:
        return GivenHead(prompt, before.tools, before.dialect)
    values = tuple(plain(tool, f"tools[{at}]") for at, tool in enumerate(tools))
    shown = {each.name: each for each in (_dialect_of_tool(value) for value in values) if each is not DEFAULT}
    # With one tool in chat form among them, no other dialect takes all of them as they were given.
    none_in_chat_form = all("function" not in value for value in values)
    return GivenHead(prompt, values, next(iter(shown.values())) if len(shown) == 1 and none_in_chat_form else None)


def read_system(system: Any) -> list[SlotContent]:
    """The system prompt: a text, or blocks with texts."""
    if system is None or system == "":
        return []
    value = plain(system, "system")
    if not isinstance(value, str | list):
        raise bad_message("system", "a text", system)
    return [SlotContent("system", "system", text_of(content_of(value)))]


def read_tools(tools: Sequence[Any] | None) -> list[SlotContent]:
    """The definitions of tools, in the form of any dialect."""
    if tools is None:
        return []
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise bad_message("tools", "a list of definitions", tools)
    found: list[SlotContent] = []
    for at, tool in enumerate(tools):
        value = plain(tool, f"tools[{at}]")
        if not isinstance(value, dict):
            raise bad_message(f"tools[{at}]", "a tool's definition, which is a dict", tool)
        builder = EventBuilder("")
        _dialect_of_tool(value).new_reader(builder).head({"tools": [value]})
        slots = [body for body in builder.bodies if isinstance(body, SlotContent)]
        if not slots or len(slots) < len(builder.bodies) or _is_nameless(value):
            raise bad_message(f"tools[{at}]", "a definition with a name", value)
        for slot in slots:
            if any(slot.name == other.name and slot.text != other.text for other in found):
                raise bad_message(f"tools[{at}]", "a name that no other tool has", slot.name)
        found += slots
    return found


def _is_nameless(tool: dict[str, Any]) -> bool:
    """Whether a function is defined without a name. A provider's own tool, such as a search, needs none."""
    functions = tool.get("function_declarations", tool.get("functionDeclarations"))
    if isinstance(functions, list):
        return any(isinstance(each, dict) and not each.get("name") for each in functions)
    if tool.get("type", "function") != "function" and "input_schema" not in tool:
        return False
    own = tool.get("function", tool)
    is_function = "type" in tool or "input_schema" in tool or "parameters" in tool
    return is_function and isinstance(own, dict) and not own.get("name")


def _dialect_of_tool(tool: dict[str, Any]) -> Dialect:
    """The dialect of a definition, by the keys that only one dialect has."""
    return next((each for each in DIALECTS.values() if each.recognises_tool(tool)), DEFAULT)
