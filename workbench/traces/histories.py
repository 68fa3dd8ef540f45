"""Conversations of Gemini's contents, in files that sometimes write the whole history again.

`History` finds out what is new in it, and what is gone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.log.events import Compaction, KeptEvent, OtherPart, Override, ToolResult, UserMessage
from workbench.traces.building import Builder, content_hash
from workbench.traces.undone import went_back
from workbench.wire.gemini_contents import GeminiReader
from workbench.wire.values import cleaned, dict_in, list_in, text_in

AGAIN = "result sent again"
"""The kind of a message with results that were sent a second time; a call has one result."""
MASKED = "<tool_output_masked>"
"""How the text begins that Gemini CLI sends in place of a masked result."""
LEFT = "no longer part of the conversation, as its agent recorded it"
"""The reason for excluding what a later history no longer has."""


class NamedContent(NamedTuple):
    """A content and its id in the file, which may be missing."""

    name: str
    content: dict[str, Any]


class _Entry(NamedTuple):
    """A content that is part of the conversation."""

    name: str
    mark: str
    """What it says, without its name; empty for a summary, which the next one may repeat."""
    first: int
    last: int
    """Its events; `last` is before `first` if it has none."""
    content: Mapping[str, Any]


class History:
    """The current contents of the conversation."""

    def __init__(self, builder: Builder, made_by: str) -> None:
        """`made_by`: the author of its compactions."""
        self._builder = builder
        self._contents = GeminiReader(builder)
        self._made_by = made_by
        self._now: list[_Entry] = []
        self.answered: set[str] = set()
        """The ids of the calls that have a result."""

    def add_content(self, name: str, content: dict[str, Any]) -> None:
        before = self._builder.last
        self.add_events(content)
        self.record_content(name, content, before)

    def add_events(self, content: dict[str, Any]) -> None:
        """Add the events of a content; the caller calls `record_content` once they are complete."""
        self._contents.add_content(content)
        given = (text_in(each, "id") for each in parts_with_key(content, "functionResponse"))
        self.answered.update(filter(None, given))

    def record_content(self, name: str, content: dict[str, Any], before: int) -> None:
        """Record that the events after `before` are this content."""
        self._now.append(_Entry(name, _mark(content), before + 1, self._builder.last, content))

    def go_back(self, name: str) -> None:
        """Exclude everything from this content on, or everything if the name is unknown."""
        names = [entry.name for entry in self._now]
        at = names.index(name) if name in names else 0
        self._leave(self._now[at:], went_back(self._made_by))
        del self._now[at:]

    def mask(self, wanted: Sequence[NamedContent]) -> bool:
        """Mask the results that a history has masked, if it differs in nothing else; returns whether it was so.

        Several contents of the user may be a single one there, as they are sent.
        """
        before = [(part, entry) for entry in self._now for part in _stable_parts(entry.content)]
        after = [(part, each) for each in wanted for part in _stable_parts(each.content)]
        pairs = list(zip(before, after, strict=False))
        masked = [(entry, part) for (had, entry), (part, _) in pairs if had != part and _is_masked(part)]
        same = all(had == part or _is_masked(part) for (had, _), (part, _) in pairs)
        if not masked or not same or len(before) != len(after):
            return False
        for at, (entry, part) in enumerate(masked):
            self._mask(entry, dict_in(part, "functionResponse"), joined=at > 0)
        found: list[_Entry] = []
        for each in wanted:
            entries = [entry for (_, entry), (_, other) in pairs if other is each]
            if entries:
                first, last = entries[0].first, entries[-1].last
                found.append(_Entry(each.name, _mark(each.content), first, last, each.content))
        self._now = found
        return True

    def _mask(self, entry: _Entry, response: dict[str, Any], joined: bool) -> None:
        words = text_in(dict_in(response, "response"), "output")
        for seq in range(entry.first, entry.last + 1):
            body = self._builder.bodies[seq - 1]
            if isinstance(body, ToolResult) and body.call_id == text_in(response, "id"):
                self._builder.add(Override("mask", seq, seq, f"cleared by {self._made_by} to make room", words, joined))

    def has_new(self, wanted: Sequence[NamedContent]) -> bool:
        """Whether a history has something new."""
        return any(place is None and not self._repeats_results(each.content) for place, each in self._places(wanted))

    def replace(self, wanted: Sequence[NamedContent], **noted: Any) -> None:
        """Replace the conversation by these contents; `noted` is about the compaction, if it is one."""
        places = self._places(wanted)
        summary = self._summary_in(places)
        kept = {place for place, _ in places}
        gone = [entry for at, entry in enumerate(self._now) if at not in kept and entry.last >= entry.first]
        if gone and summary:
            seqs = self._compaction(gone, summary, noted)
        else:
            summary, seqs = [], (0, 0)
            self._leave(gone)
        before, self._now = self._now, []
        again: list[dict[str, Any]] = []
        for place, each in places:
            if place is not None:
                self._now.append(before[place])
            elif each in summary:
                self._now.append(_Entry(each.name, "", *seqs, each.content))
            elif self._repeats_results(each.content):
                again += parts_with_key(each.content, "functionResponse")
            else:
                self.add_content(*each)
        if again:
            self._builder.add(UserMessage(tuple(OtherPart(cleaned({**each, "type": AGAIN})) for each in again)))
            self._now.append(_Entry("", "", self._builder.last, self._builder.last, {"parts": []}))

    def _places(self, wanted: Sequence[NamedContent]) -> list[tuple[int | None, NamedContent]]:
        """The indexes of contents among the current ones, in order: by name, or by what they say.

        After something new that is neither a summary nor its answer, everything counts as new: contents that are found
        again keep their events, which come before new ones.
        """
        names = {entry.name: at for at, entry in enumerate(self._now) if entry.name}
        marks: defaultdict[str, list[int]] = defaultdict(list)
        for at, entry in enumerate(self._now):
            marks[entry.mark].append(at)
        found: list[tuple[int | None, NamedContent]] = []
        after, new = 0, 0
        for each in wanted:
            same = marks.get(_mark(each.content), [])
            at = bisect_left(same, after)
            place = names.get(each.name, same[at] if at < len(same) else None)
            place = place if place is not None and place >= after and new <= 2 else None
            new += place is None and not self._repeats_results(each.content)
            after = after if place is None else place + 1
            found.append((place, each))
        return found

    def _repeats_results(self, content: dict[str, Any]) -> bool:
        """Whether a content has results, and all of them are known."""
        given = {text_in(each, "id") for each in parts_with_key(content, "functionResponse")}
        return bool(given) and given <= self.answered

    def _summary_in(self, places: list[tuple[int | None, NamedContent]]) -> list[NamedContent]:
        """The summary and the answer to it, if the new contents begin with a summary."""
        new = [each for place, each in places if place is None and not self._repeats_results(each.content)]
        if not new or new[0].content["role"] != "user" or not content_texts(new[0].content):
            return []
        return new[: 2 if len(new) > 1 and new[1].content["role"] == "model" else 1]

    def _compaction(self, gone: list[_Entry], summary: list[NamedContent], noted: dict[str, Any]) -> tuple[int, int]:
        """Add a summary in place of what is gone, and its answer; returns the events that they replace."""
        summary_texts = ["\n".join(content_texts(each.content)) for each in summary]
        first, last = min(entry.first for entry in gone), max(entry.last for entry in gone)
        left = {entry.first for entry in gone}
        kept = tuple(
            KeptEvent(seq)
            for entry in self._now
            if entry.first not in left and entry.first >= first
            for seq in range(entry.first, min(entry.last, last) + 1)
        )
        meta = {"made_by": self._made_by, **{key: value for key, value in noted.items() if value}}
        answer = summary_texts[1] if len(summary_texts) > 1 else ""
        self._builder.add(Compaction(first, last, summary_texts[0], kept, acknowledgement=answer, meta=meta))
        return first, self._builder.last

    def _leave(self, gone: Iterable[_Entry], why: str = LEFT) -> None:
        for entry in gone:
            if entry.last >= entry.first:
                self._builder.add(Override("exclude", entry.first, entry.last, why))


def _stable_parts(content: Mapping[str, Any]) -> list[Any]:
    """The parts of a content that stay the same when it is written again: no thoughts, no signatures."""
    kept = (("text",), ("functionCall", "name", "args"), ("functionResponse", "id", "response"))
    return [
        {key: {name: part[key].get(name) for name in names} if names else part[key]}
        for part in list_in(content, "parts")
        for key, *names in kept
        if (dict_in(part, key) if names else text_in(part, key)) and not part.get("thought")
    ]


def _is_masked(part: dict[str, Any]) -> bool:
    return text_in(dict_in(dict_in(part, "functionResponse"), "response"), "output").startswith(MASKED)


def parts_with_key(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The calls, or the responses, of a content."""
    return [part[key] for part in content["parts"] if dict_in(part, key)]


def content_texts(content: dict[str, Any]) -> list[str]:
    """The texts of a content, without thoughts."""
    return [text_in(part, "text") for part in content["parts"] if text_in(part, "text") and not part.get("thought")]


def _mark(content: dict[str, Any]) -> str:
    """What a content says, without ids, thoughts and signatures."""
    calls = [(text_in(call, "name"), call.get("args")) for call in parts_with_key(content, "functionCall")]
    given = [each.get("response") for each in parts_with_key(content, "functionResponse")]
    return content_hash([content["role"], content_texts(content), calls, given])
