"""OpenAI's Responses.

- A request has `instructions`, `tools`, and `input`: a text, or items. Items: `message` (whose `type` may be left out),
  `reasoning`, `function_call` and the like, paired with their outputs by `call_id`. `custom_tool_call` has free text,
  kept as `{"input": ...}`. A response has the same items under `output`, and `usage`.
- There are no ids for replies: what the model said between two things that it did not is one reply.
- An output is text, a list of parts, or an object with `content` and `success`; false marks an error.
- Tools may come in a `namespace`, or later, in an `additional_tools` item; each counts as a tool. Functions become
  definitions as OpenAI's chat has them; those that OpenAI itself runs have no schema and stay as they are.
- A `compaction` item is an encrypted summary by OpenAI. Behind what the model said it stands for all before it; behind
  the user's messages alone it stands for what is not there any more, as `/responses/compact` gives it.
- Reasoning that is encrypted is sent back; it has a signature, and mostly no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.log.events import AssistantMessage, Content, Reasoning, SlotContent, SystemMessage, Usage, UserMessage
from workbench.wire.parts import messages_of
from workbench.wire.talk import Talk, report
from workbench.wire.values import content_of, dict_in, list_in, number_in, text_in

EARLIER: Final = "previous_response_id"
COMPACTIONS: Final = ("compaction", "compaction_summary")
SEALED: Final = "[OpenAI compacted the conversation here; the summary is encrypted and cannot be shown]"
CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}


class ResponsesReader:
    """Items, one by one."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._replies = 0
        self._speaking = False
        """Whether the last item was the model's."""
        self._finish = "stop"
        self._is_answer = False
        """Whether what is read is an answer."""

    def head(self, body: dict[str, Any]) -> int:
        """The instructions and the tools of a request, which stand beside its items."""
        if text_in(body, "instructions"):
            self.talk.add(SlotContent("system", "instructions", text_in(body, "instructions")))
        self._tools(body)
        return 0

    def _tools(self, value: dict[str, Any], namespace: str = "") -> None:
        for tool in list_in(value, "tools"):
            if text_in(tool, "type") == "namespace":
                self._tools(tool, text_in(tool, "name"))
            else:
                self.talk.tool(definition(tool), namespace)

    def message(self, value: Any) -> None:
        """An item; a bare text is what the user said."""
        kind = text_in(value, "type")
        if isinstance(value, str):
            self._message({"role": "user", "content": value})
        elif kind == "message" or (not kind and text_in(value, "role")):
            self._message(value)
        elif kind == "reasoning":
            self._reasoning(value)
        elif kind in CALLS:
            arguments = value.get(CALLS[kind])
            arguments = {"input": arguments} if kind == "custom_tool_call" else arguments
            call_id = text_in(value, "call_id") or text_in(value, "id")
            self.talk.call(call_id, text_in(value, "name") or "local_shell", arguments, self._reply())
        elif kind.endswith("_call_output"):
            self._speaking = False
            content, failed = self.output(value.get("output"))
            self.talk.result(text_in(value, "call_id"), content, failed)
        elif kind == "additional_tools":
            self._tools(value)
        elif kind in COMPACTIONS:
            self._speaking = False
            self.talk.compacted(SEALED, "OpenAI", all_before=self._is_answer or self._replies > 0, sealed=True)
        else:
            self.talk.unknown(kind or "line", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """What a request was answered with."""
        self.talk.model = text_in(body, "model") or self.talk.model
        self._speaking = False
        self._finish = "length" if text_in(body, "status") == "incomplete" else "stop"
        self._is_answer = True
        for item in list_in(body, "output"):
            self.message(item)
        self._finish, self._is_answer = "stop", False
        return usage_in(dict_in(body, "usage"), self.talk.model)

    def _reply(self) -> str:
        if not self._speaking:
            self._replies += 1
        self._speaking = True
        return f"r{self._replies}"

    def _message(self, item: dict[str, Any]) -> None:
        role, content = text_in(item, "role"), content_of(item.get("content"))
        if role == "assistant":
            self.talk.add(AssistantMessage(content, self._reply(), finish=self._finish, model=self.talk.model))
            return
        self._speaking = False
        if role == "user":
            self.user(content)
        elif role in ("developer", "system"):
            self.talk.add(SystemMessage(content, role))
        else:
            self.talk.unknown("message", item)

    def user(self, content: Content) -> None:
        """What the user said."""
        self.talk.add(UserMessage(content))

    def output(self, value: Any) -> tuple[Content, bool]:
        """A call's output, and whether it is an error."""
        return output(value)

    def _reasoning(self, item: dict[str, Any]) -> None:
        parts = [*list_in(item, "summary"), *list_in(item, "content")]
        said = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        reply, signature = self._reply(), text_in(item, "encrypted_content")
        if said or signature:
            self.talk.add(Reasoning(said, reply, signature))
        else:
            self.talk.leave_out("reasoning that is empty")


class UnknownResponse(KeyError):
    """A request goes on from a response that nobody knows; it says which."""

    def __str__(self) -> str:
        return str(self.args[0])


class EarlierResponses:
    """What was asked and answered, for requests that send only what is new and name the response they go on from."""

    def __init__(self, keep: int = 256) -> None:
        self._keep = keep
        self._known: dict[str, _KnownResponse] = {}

    def resolved(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the items of all earlier responses that are known.

        It names an earlier response only where the first of these items goes on from one that is not known.
        """
        earlier = body.get(EARLIER)
        if not isinstance(earlier, str) or not earlier:
            return dict(body)
        if earlier not in self._known:
            raise UnknownResponse(earlier)
        known = self._known[earlier]
        made = {**body, EARLIER: known.earlier, "input": [*known.items, *messages_of("responses", body)]}
        if not known.earlier:
            del made[EARLIER]
        return made

    def add(self, resolved: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """A request, as `resolved` gave it, and the response to it."""
        items = [*messages_of("responses", resolved), *list_in(response, "output")]
        self._known[text_in(response, "id")] = _KnownResponse(text_in(resolved, EARLIER), items)
        if len(self._known) > self._keep:
            del self._known[next(iter(self._known))]


class _KnownResponse(NamedTuple):
    earlier: str
    """A response before these items that is not known; empty: there is none."""
    items: list[Any]
    """The items of its request, then its own."""


def output(value: Any) -> tuple[Content, bool]:
    """A call's output, and whether it is an error."""
    if isinstance(value, dict):
        inner = value.get("content", value.get("content_items"))
        return content_of(value if inner is None else inner), value.get("success") is False
    return content_of(value), False


def definition(tool: Any) -> Any:
    """A function as OpenAI's chat has it."""
    if text_in(tool, "type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def usage_in(used: dict[str, Any], model: str) -> Usage | None:
    """What was reported; what was cached is part of `input_tokens`."""
    cached = number_in(dict_in(used, "input_tokens_details"), "cached_tokens")
    thought = number_in(dict_in(used, "output_tokens_details"), "reasoning_tokens")
    prompt, completion = number_in(used, "input_tokens"), number_in(used, "output_tokens")
    return report(model, prompt, completion, cached=cached, reasoning=thought)
