"""OpenHands: the events of a session: a list, an object with them under `history`, or JSON lines of either.

- An event has an `id`, a `source` and an `action` with `args`, or an `observation` with `content` and the `cause`,
  which is the action's id. `message` of the user and of the agent are the conversation; `system` is the system prompt
  with its tools.
- `tool_call_metadata` has the model's whole reply (`model_response`) and the id of the call. Text and calls are taken
  from the reply, once; results are paired by call id. Without it, an agent's action is itself the call, with the id
  `event-N`, and its `thought` is the text; results are paired by `cause`.
- A result is an error when it is of the kind `error`, when `success` is false, or its exit code is not 0.
- `condensation` is a compaction of the events it names as forgotten, if it has a summary. Without one they are
  excluded, because OpenHands just left them out. One that names nothing is kept as unknown.
- Changes of state, empty observations and recalls are counted, not kept.
- Events of the newer agent SDK have a `kind` instead: `MessageEvent`, `ActionEvent`, `ObservationEvent`,
    `SystemPromptEvent`, `AgentErrorEvent`, `Condensation`; they have the same content in other keys.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, ImagePart, Override, SystemMessage, TextPart, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, text_in

NAME = format_names.OPENHANDS
FORGOTTEN = "forgotten by OpenHands, which made no summary"
_NOISE = ("change_agent_state", "agent_state_changed", "null", "recall", "condensation_request")
_KINDS = ("MessageEvent", "ActionEvent", "ObservationEvent", "SystemPromptEvent")


def recognises(document: Document) -> bool:
    """Whether an event is near the beginning, bare or in a history."""
    return any(_is_event(value) or any(map(_is_event, _history(value)[:40])) for value in first_objects(document))


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or "source" not in value:
        return False
    old = "id" in value and isinstance(value.get("action", value.get("observation")), str)
    return old or value.get("kind") in _KINDS


def _history(value: Any) -> list[Any]:
    """The events of an object that holds them; evaluations pair each action with its observation."""
    found = list_in(value, "history") or list_in(value, "events") or list_in(value, "trajectory")
    return [event for entry in found for event in (entry if isinstance(entry, list) else [entry])]


def read(document: Document, text: str) -> list[Recording]:
    """The session; or one per object with a history."""
    located = log_entries(document, text)
    histories = [_history(value) for _, value in located]
    histories = [history for history in histories if history] or [[value for _, value in located]]
    found = []
    for number, history in enumerate(histories):
        reader = _Reader(Builder(NAME, () if number else document.broken))
        for event in history:
            reader.event(event)
        found.append(reader.builder.finish())
    return found


class _Reader:
    """One session, event by event."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._replies: set[str] = set()
        self._ranges: dict[Any, tuple[int, int]] = {}
        """By the event's id: the first and the last of its events in the log."""

    def event(self, value: Any) -> None:
        before = self.builder.last
        if not isinstance(value, dict):
            self.builder.unknown("event", value)
            return
        if isinstance(value.get("kind"), str):
            self._new(value)
        elif isinstance(value.get("action"), str):
            self._action(value)
        elif isinstance(value.get("observation"), str):
            self._observation(value)
        else:
            self.builder.unknown("event", value)
        if isinstance(value.get("id"), int | str) and self.builder.last > before:
            self._ranges[value["id"]] = (before + 1, self.builder.last)

    def _action(self, value: dict[str, Any]) -> None:
        kind, source, args = value["action"], value.get("source"), dict_in(value, "args")
        metadata = dict_in(value, "tool_call_metadata")
        if kind in _NOISE:
            self.builder.leave_out(kind)
        elif kind == "system":
            self.builder.add(SystemMessage(text_in(args, "content")))
            for tool in list_in(args, "tools"):
                self.builder.tool(tool)
        elif kind == "condensation":
            self._condensation(value, args)
        elif metadata:
            self._reply(value, args, metadata)
        elif kind == "message":
            images = [ImagePart(url) for url in list_in(args, "image_urls") if isinstance(url, str)]
            content = content_from([TextPart(text_in(args, "content")), *images])
            reply = f"event-{value.get('id')}"
            self.builder.add(AssistantMessage(content, reply) if source == "agent" else UserMessage(content))
        elif source == "agent":
            self._bare(value, kind, args)
        else:
            self.builder.unknown(f"action {kind}", value)

    def _reply(self, value: dict[str, Any], args: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Add the model's reply, at the first of its calls."""
        response = dict_in(metadata, "model_response")
        message = next((dict_in(choice, "message") for choice in list_in(response, "choices")), {})
        reply = text_in(response, "id") or f"event-{value.get('id')}"
        if reply in self._replies:
            return
        self._replies.add(reply)
        self.builder.says_model(text_in(response, "model"))
        content = content_of(message.get("content")) or ("" if message else text_in(args, "thought"))
        if content:
            self.builder.add(AssistantMessage(content, reply, finish="tool_calls", model=self.builder.model))
        calls = [call for call in list_in(message, "tool_calls") if isinstance(call, dict)]
        for call in calls:
            function = dict_in(call, "function")
            self.builder.call(text_in(call, "id"), text_in(function, "name"), function.get("arguments"), reply)
        if not calls:
            call_id, tool = text_in(metadata, "tool_call_id"), text_in(metadata, "function_name")
            self.builder.call(call_id, tool, _without_thought(args), reply)
        used = dict_in(response, "usage")
        cached = number_in(used, "cache_read_input_tokens")
        cached = cached or number_in(dict_in(used, "prompt_tokens_details"), "cached_tokens")
        prompt, completion = number_in(used, "prompt_tokens"), number_in(used, "completion_tokens")
        written = number_in(used, "cache_creation_input_tokens")
        self.builder.usage(prompt, completion, cached=cached, cache_write=written)

    def _bare(self, value: dict[str, Any], kind: str, args: dict[str, Any]) -> None:
        """Add an action of an agent that calls no tools by name."""
        reply = f"event-{value.get('id')}"
        thought = text_in(args, "thought") or text_in(args, "final_thought")
        if thought or kind == "finish":
            self.builder.add(AssistantMessage(thought or text_in(value, "message"), reply))
        if kind != "finish":
            self.builder.call(reply, kind, _without_thought(args), reply)

    def _observation(self, value: dict[str, Any]) -> None:
        kind, extras = value["observation"], dict_in(value, "extras")
        call_id = text_in(dict_in(value, "tool_call_metadata"), "tool_call_id")
        if kind in _NOISE:
            self.builder.leave_out(kind)
            return
        code = dict_in(extras, "metadata").get("exit_code", extras.get("exit_code", 0))
        failed = kind == "error" or value.get("success") is False or code not in (0, None)
        # For an edit the file has the whole change; the model saw only a line about the outcome.
        content = text_in(extras, "formatted_output_and_error") or content_of(value.get("content"))
        self.builder.result(call_id or f"event-{value.get('cause')}", content, failed)

    def _condensation(self, value: dict[str, Any], args: dict[str, Any]) -> None:
        ids = list_in(args, "forgotten_event_ids")
        start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        if isinstance(start, int) and isinstance(end, int):
            ids = [event for event in self._ranges if isinstance(event, int) and start <= event <= end]
        found = [self._ranges[event] for event in ids if isinstance(event, int | str) and event in self._ranges]
        summary = text_in(args, "summary")
        if not found and not summary:
            self.builder.unknown("condensation", value)
        elif summary:
            here = self.builder.last + 1
            first = min((first for first, _ in found), default=here)
            self.builder.compaction(first, max((last for _, last in found), default=here - 1), summary)
        else:
            self.builder.add(*(Override("exclude", first, last, FORGOTTEN) for first, last in _joined(found)))

    def _new(self, value: dict[str, Any]) -> None:
        """An event of the agent SDK."""
        kind, reply = value["kind"], text_in(value, "llm_response_id") or text_in(value, "id")
        match kind:
            case "SystemPromptEvent":
                self.builder.add(SystemMessage(text_in(dict_in(value, "system_prompt"), "text")))
                for tool in list_in(value, "tools"):
                    self.builder.tool(tool)
            case "MessageEvent":
                content = content_of(dict_in(value, "llm_message").get("content"))
                of_agent = value.get("source") == "agent"
                self.builder.add(AssistantMessage(content, reply) if of_agent else UserMessage(content))
            case "ActionEvent":
                thought, call = content_of(value.get("thought")), dict_in(value, "tool_call")
                if thought:
                    self.builder.add(AssistantMessage(thought, reply, finish="tool_calls"))
                arguments = dict_in(call, "function").get("arguments", call.get("arguments", value.get("action")))
                self.builder.call(text_in(value, "tool_call_id"), text_in(value, "tool_name"), arguments, reply)
            case "ObservationEvent":
                seen = dict_in(value, "observation")
                content = content_of(seen.get("content", seen.get("output", value.get("observation"))))
                self.builder.result(text_in(value, "tool_call_id"), content, seen.get("is_error") is True)
            case "AgentErrorEvent" | "UserRejectObservation":
                content = text_in(value, "error") or text_in(value, "rejection_reason")
                self.builder.result(text_in(value, "tool_call_id"), content, True, text_in(value, "tool_name"))
            case "Condensation":
                self._condensation(value, value)
            case "ConversationStateUpdateEvent" | "PauseEvent" | "CondensationRequest":
                self.builder.leave_out(kind)
            case _:
                self.builder.unknown(kind, value)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _without_thought(args: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in args.items() if key != "thought"}
