"""Changes a request's body: leaves items out, replaces texts, sets another model or parameters.

- A call and its result are removed together. A message is removed when nothing is left in it.
- Thinking is removed only with everything else in the same reply; providers refuse anything else.
- A call without a result is kept. So is the last message, because the model answers it. Its text can be edited.
- Marks for the provider's cache are kept. The mark of a removed block moves to the block before it.
- Everything else is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from workbench.config.errors import Refused, WrongCall
from workbench.log.events import DialectName
from workbench.wire.body_items import BodyItem, BodyPlace, PlacedItem, Section, items_in, placed_items, sections_of
from workbench.wire.cache_marks import GONE, move_back
from workbench.wire.dialects import DIALECTS
from workbench.wire.marks import mark_in
from workbench.wire.values import list_in

__all__ = ["BodyItem", "BodyRewriter", "Rewrite", "items_in", "rewritten"]

_NEEDS_TOOLS = ("tool_choice", "parallel_tool_calls", "toolConfig")
"""Parameters that a provider refuses without tools."""


class Rewrite(Struct, frozen=True):
    """The changes to a request. Items are named by their paths."""

    exclude: frozenset[str] = frozenset()
    mask: Mapping[str, str] = field(default_factory=dict)
    """The text to put in place of an item."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Edited texts; the last message may be edited, too."""
    model: str = ""
    """Another model. Gemini has the model in the address: there the body does not change."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters to set; None removes one."""


def rewritten(dialect: DialectName, body: dict[str, Any], rewrite: Rewrite) -> dict[str, Any]:
    """Return a changed copy of the body. A change that is not allowed raises an error with one sentence."""
    made = dict(body)
    if rewrite.exclude or rewrite.mask or rewrite.texts:
        made = BodyRewriter(dialect, body).rewritten_body(rewrite)
    for name, value in rewrite.parameters.items():
        if name in (*DIALECTS[dialect].places, "tools"):
            raise WrongCall(f"{name}: no parameter; it is left out or edited by its path")
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    if rewrite.model and (DIALECTS[dialect].model_in_body or "model" in body):
        made["model"] = rewrite.model
    return made


class BodyRewriter:
    """Makes changed copies of one body, whose items are found once."""

    def __init__(self, dialect: DialectName, body: dict[str, Any]) -> None:
        self._dialect = dialect
        self._body = body
        self._found = sections_of(dialect, body)
        """The sections of the original."""
        self._items = placed_items(dialect, body, self._found)
        self._sections: dict[Section, list[Any]] = {}
        """The sections of the copy that is being made."""
        self._last = len(self._found["messages"]) - 1
        """The index of the last message."""
        self._by_path: dict[str, list[PlacedItem]] = {}
        """The items at and below each path."""
        self._by_exchange: dict[int, list[PlacedItem]] = {}
        self._by_reply: dict[int, list[PlacedItem]] = {}
        for placed in self._items:
            self._by_exchange.setdefault(placed.exchange, []).append(placed)
            self._by_reply.setdefault(placed.reply, []).append(placed)
            names = placed.item.path.split(".")
            for end in range(1, len(names) + 1):
                self._by_path.setdefault(".".join(names[:end]), []).append(placed)

    def rewritten_body(self, rewrite: Rewrite) -> dict[str, Any]:
        """The body with items left out, masked and edited."""
        self._sections = {name: list(entries) for name, entries in self._found.items()}
        leaving = self._leaving(rewrite)
        for path, text in {**rewrite.mask, **rewrite.texts}.items():
            placed = self._one(path)
            if path not in rewrite.texts and self._is_last(placed):
                raise _in_last_message(path)
            if placed not in leaving:
                self._write(placed, text)
        self._remove({placed.place for placed in leaving})
        made = dict(self._body)
        system, messages = DIALECTS[self._dialect].places
        names: dict[Section, str] = {"tools": "tools", "system": system, "messages": messages}
        for section, name in names.items():
            left = [entry for entry in self._sections[section] if entry is not GONE]
            if left:
                made[name] = left if isinstance(made[name], list) else left[0]
            elif self._sections[section]:
                del made[name]
        if "tools" in self._body and "tools" not in made:
            made = {name: value for name, value in made.items() if name not in _NEEDS_TOOLS}
        return made

    def removed_paths(self, rewrite: Rewrite) -> frozenset[str]:
        """The paths of all items that a change removes, also of those that leave together with others."""
        return frozenset(placed.item.path for placed in self._leaving(rewrite))

    # Which items are removed

    def _named(self, path: str) -> list[PlacedItem]:
        if path not in self._by_path:
            raise WrongCall(f"{path}: the request has nothing there")
        return self._by_path[path]

    def _leaving(self, rewrite: Rewrite) -> set[PlacedItem]:
        """All items to remove together with those named. Raises an error if one of them has to be kept."""
        named = {placed: path for path in sorted(rewrite.exclude) for placed in self._named(path)}
        leaving = set(named)
        for placed in named:
            leaving.update(self._by_exchange[placed.exchange])
        for placed in leaving.copy():
            spoken = [each for each in self._by_reply[placed.reply] if each.item.kind != "reasoning"]
            if leaving.issuperset(spoken):
                leaving.update(self._by_reply[placed.reply])
            elif placed.item.kind == "reasoning":
                raise Refused(f"{named[placed]}: what the model thought leaves only with all that it said with it")
        for placed in leaving:
            if self._is_last(placed):
                raise _in_last_message(named.get(placed, placed.item.path))
            with_it = {each.item.kind for each in self._by_exchange[placed.exchange]}
            if placed.item.kind == "call" and "result" not in with_it:
                raise Refused(f"{placed.item.path}: the call has no result yet, and stays")
        return leaving

    def _is_last(self, placed: PlacedItem) -> bool:
        return placed.place.section == "messages" and placed.place.at == self._last

    def _remove(self, gone: set[BodyPlace]) -> None:
        """Remove items from their entries, and empty entries from their sections."""
        marks: list[tuple[BodyPlace, Any]] = []
        left = {placed.place[:2] for placed in self._items if placed.place not in gone}
        for section, at in {place[:2] for place in gone} - left:
            marks.append((BodyPlace(section, at), mark_in(self._sections[section][at])))
            self._sections[section][at] = GONE
        partly = sorted(place for place in gone if place[:2] in left)
        for place in partly:
            section, at, key, index = place
            entry = self._sections[section][at]
            inside = list(entry[key]) if index >= 0 else None
            if inside is not None:
                marks.append((place, mark_in(inside[index])))
                inside[index] = GONE
            self._sections[section][at] = {**entry, key: inside}
        for place, mark in marks:
            if mark is not None:
                move_back(self._dialect, self._sections, place, mark)
        for section, at, key, _ in partly:
            no_text = DIALECTS[self._dialect].no_text
            self._sections[section][at] = _tidied(self._sections[section][at], key, no_text)

    # Which text replaces an item

    def _one(self, path: str) -> PlacedItem:
        found = self._named(path)
        if len(found) > 1:
            raise WrongCall(f"{path}: has several things; name one, such as {found[0].item.path}")
        if found[0].item.kind in ("reasoning", "call", "tool"):
            raise Refused(f"{path}: only texts and results can be changed, not a {found[0].item.kind}")
        return found[0]

    def _write(self, placed: PlacedItem, text: str) -> None:
        section, at, key, index = placed.place
        if not text.strip():
            raise WrongCall(f"{placed.item.path}: no text; leave it out instead")
        entry = self._sections[section][at]
        made: Any
        if not key:
            made = self._with_text(placed.item, entry, text)
        elif index < 0:
            made = {**entry, key: text}
        else:
            inside = list(entry[key])
            inside[index] = self._with_text(placed.item, inside[index], text)
            made = {**entry, key: inside}
        self._sections[section][at] = made

    def _with_text(self, item: BodyItem, value: Any, text: str) -> Any:
        """An entry or a block with another text, in the same shape."""
        if isinstance(value, str):
            return text
        made = DIALECTS[self._dialect].result_with_text(value, text) if item.kind == "result" else None
        if made is not None:
            return made
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            return {**value, "text": text}
        raise Refused(f"{item.path}: has no text that could be changed")


def _tidied(entry: dict[str, Any], key: str, no_text: str | None) -> dict[str, Any]:
    """An entry without the items removed under a key. An empty content stays as `no_text`; other keys are removed."""
    left = [each for each in list_in(entry, key) if each is not GONE]
    if left or key == "content":
        return {**entry, key: left or no_text}
    return {name: value for name, value in entry.items() if name != key}


def _in_last_message(path: str) -> Refused:
    return Refused(
        f"{path}: it is in the last message, which the model answers, and can be neither left out nor masked"
    )
