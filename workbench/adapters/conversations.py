"""The conversations of an adapter: each has a `Context` that follows the messages which the framework keeps."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict

from msgspec import Struct, field

from workbench.library.context import Context
from workbench.library.messages import known_dialect
from workbench.library.plain_values import plain
from workbench.library.setups import ChosenPolicy
from workbench.library.summaries import Summarise
from workbench.log.errors import NotFound
from workbench.log.store import Store
from workbench.wire.dialects import DEFAULT

_NOT_REPEATED: Final = frozenset({"annotations", "caller", "citations", "index", "logprobs", "status"})
"""Keys of an answer that programs leave out when they repeat it."""
MOST: Final = 100
"""Conversations that are remembered. The one that was not used for longest is forgotten first."""


def same_message(one: Any, other: Any) -> bool:
    """Whether two messages have the same author, texts, calls and results, whatever empty fields they have."""
    return bool(one == other) or _meaning(one) == _meaning(other)


def _meaning(value: Any, key: str = "") -> Any:
    """A message, or a value in it under `key`, in a form that is the same for all ways to write it."""
    if isinstance(value, Mapping):
        # The id of a call says which one it is; that of a message, or of an item with a `call_id`, says nothing.
        own = ("id",) if "role" in value or "call_id" in value else ()
        kept = {name: each for name, each in value.items() if name not in _NOT_REPEATED and name not in own}
        if kept.get("type") == "message":  # in Responses, a message may leave its type out
            del kept["type"]
        found = {name: _meaning(each, name) for name, each in kept.items()}
        return {name: each for name, each in found.items() if each not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        if (
            key == "content"
            and len(value) == 1
            and isinstance(value[0], Mapping)
            and isinstance(value[0].get("text"), str)
        ):
            return value[0]["text"]
        return [_meaning(each) for each in value]
    return _parsed(value) if key == "arguments" and isinstance(value, str) else value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class AdapterSettings(TypedDict, total=False):
    """The settings of every adapter. By default the policy is `workbench`, and the framework names the model."""

    policy: str | ChosenPolicy
    model: str
    """The model to count for, if the framework's own name for it is not in the catalogue."""
    window: int
    reserve: int
    store: str | os.PathLike[str]
    """Records the conversations: the title of a session in the program's store, or the path of a file."""
    summarise: Summarise
    """Writes the summary when a compaction is due. Without it, a digest is made, which needs no model."""


class PlannedRequest(NamedTuple):
    """What to send, and the context that gave it, to note the answer."""

    body: dict[str, Any]
    context: Context


class FollowedConversation(Struct):
    """One conversation of a framework, as far as it is known."""

    context: Context
    known: list[Any] = field(default_factory=list)
    """The messages that the context was given."""

    def plain_values(self, messages: Sequence[Any]) -> list[Any]:
        """Messages as plain values. Most of them are known."""
        known = (*self.known, *repeat(None, len(messages) - len(self.known)))
        both = enumerate(zip(messages, known, strict=False))
        return [old if new == old else plain(new, f"messages[{at}]") for at, (new, old) in both]

    def follow(self, messages: Sequence[Any]) -> None:
        """Give the context what is new in the framework's list."""
        both = zip(self.known, messages, strict=False)
        # What the provider answered is known before the framework repeats it, perhaps in fewer words.
        same = [old if same_message(old, new) else new for old, new in both]
        self.known = [*same, *messages[len(same) :]]
        self.context.follow(self.known)

    def common(self, messages: Sequence[Any]) -> int:
        """How many messages are the same, from the first on, in a list and in this conversation."""
        both = zip(self.known, self.plain_values(messages), strict=False)
        return next(
            (at for at, pair in enumerate(both) if not same_message(*pair)), min(len(self.known), len(messages))
        )


class PlannedConversations:
    """All conversations of one adapter. The context that was used last is `context`."""

    def __init__(self, dialect: str, settings: AdapterSettings) -> None:
        self._dialect_name = dialect
        self.dialect = known_dialect(dialect) or DEFAULT
        self._settings = settings
        self._all: OrderedDict[str, FollowedConversation] = OrderedDict()
        self._numbers = count(1)
        self.context: Context | None = None

    async def request(self, messages: Sequence[Any], key: str = "", **head: Any) -> PlannedRequest:
        """What to send for a framework's messages. A compaction that is due is made before.

        `key`: the framework's own name for the conversation; without one it is found by its beginning.
        `head`: the system prompt, the tools and the model. Raises DoesNotFit.
        """
        context = self._followed(messages, key, **head)
        if context.due:
            await context.compact(self._settings.get("summarise"))
        return PlannedRequest(context.request(self._dialect_name), context)

    def request_now(self, messages: Sequence[Any], key: str = "", **head: Any) -> PlannedRequest:
        """`request` for frameworks that do not wait for coroutines."""
        context = self._followed(messages, key, **head)
        if context.due:
            context.compact_now(self._settings.get("summarise"))
        return PlannedRequest(context.request(self._dialect_name), context)

    def context_under(self, key: str) -> Context | None:
        """The context of the conversation with this key of the framework's; None if it was forgotten."""
        found = self._all.get(key)
        return None if found is None else found.context

    def length_of(self, context: Context) -> int:
        """How many messages a context was given."""
        found = self._conversation_of(context)
        return 0 if found is None else len(found.known)

    def _conversation_of(self, context: Context) -> FollowedConversation | None:
        return next((each for each in self._all.values() if each.context is context), None)

    def record_answer(self, context: Context, answer: Sequence[Any], usage: Any = None) -> None:
        """Record the messages of the answer to a context's request, and what was reported for it."""
        found = self._conversation_of(context)
        if found is not None and answer:
            found.follow([*found.known, *(plain(each, "answer") for each in answer)])
        if usage is not None:
            context.report(usage)  # it belongs to the reply before it

    def close(self) -> None:
        """Let other programs write the stored sessions."""
        for each in self._all.values():
            each.context.close()
        self._all.clear()

    def _followed(
        self, messages: Sequence[Any], key: str, *, system: Any = None, tools: Any = None, model: str = ""
    ) -> Context:
        name = key or self._recognised(messages)
        found = self._all.get(name)
        if found is None:
            found = self._all[name] = FollowedConversation(self._new_context(model))
        values = found.plain_values(messages)
        self._all.move_to_end(name)
        while len(self._all) > MOST:
            self._all.popitem(last=False)[1].context.close()
        found.context.configure(system=system or "", tools=tools or [])
        found.follow(values)
        self.context = found.context
        return found.context

    def _recognised(self, messages: Sequence[Any]) -> str:
        """The conversation that begins as these messages do: at least half of its messages are the same."""
        alike = ((each.common(messages), name) for name, each in self._all.items() if each.known)
        found = max(((same, name) for same, name in alike if 2 * same >= len(self._all[name].known)), default=None)
        return found[1] if found else f"{next(self._numbers)}"

    def _new_context(self, model: str) -> Context:
        given: dict[str, Any] = {name: value for name, value in self._settings.items() if name != "summarise"}
        if "store" in self._settings:
            given["store"] = unused_store(self._settings["store"])
        if model and not given.get("model"):
            given["model"] = model
        return Context(dialect=self._dialect_name, **given)


def unused_store(store: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The name for one more conversation in a store: as it was given, or with a number.

    A framework begins with its own messages, so a conversation never continues the session of an earlier one.
    """
    name = os.fspath(store)
    if not isinstance(store, str) or os.sep in name or name.endswith(".db"):
        return next(path for path in _numbered_paths(Path(name)) if not path.exists())
    with Store.open() as opened:
        return next(title for title in _numbered_titles(name) if not _has(opened, title))


def _numbered_paths(path: Path) -> Iterator[Path]:
    yield path
    yield from (path.with_stem(f"{path.stem}-{number}") for number in count(2))


def _numbered_titles(title: str) -> Iterator[str]:
    yield title
    yield from (f"{title} {number}" for number in count(2))


def _has(store: Store, title: str) -> bool:
    try:
        store.session(title)
    except NotFound:
        return False
    return True
