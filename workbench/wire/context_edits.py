"""What a provider removed from a request before its model saw it, as reported in its answer.

- Anthropic's `context_management` in a request asks for it: `clear_tool_uses_...` clears the oldest tool results,
  except those of `exclude_tools`, and `clear_thinking_...` clears the thinking of the oldest replies. The answer
  reports under `context_management.applied_edits` how many were cleared, and how many tokens. Nothing is kept from one
  request to the next: each answer reports everything cleared in its own request, and the client goes on sending it.
- Anthropic and OpenAI also compact (`compact_...`, `compaction`). The answer has the summary as a block or an item,
  which the dialects read as a compaction (`EventBuilder.compacted`).
- OpenAI's `truncation: auto` drops items from the beginning and does not report it. Only the reported size shows it
  (`sources/request_plans`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from workbench.log.events import Body, Compaction, Override, Reasoning, ToolResult
from workbench.wire.values import dict_in, list_in, number_in, text_in

CLEARED: Final = "[tool result cleared by Anthropic]"
"""The text in place of a cleared result. Anthropic does not document the text that its model sees there."""
_RESULTS, _THINKING = "clear_tool_uses", "clear_thinking"


class ProviderEdits(NamedTuple):
    """What was cleared in one request."""

    results: int = 0
    """The number of cleared tool results, the oldest ones."""
    result_tokens: int = 0
    replies: int = 0
    """The number of replies whose thinking was cleared, the oldest ones."""
    thinking_tokens: int = 0
    spared: frozenset[str] = frozenset()
    """Tools whose results are never cleared."""


def applied_edits(answer: Any, asked: Mapping[str, Any] | None = None) -> ProviderEdits:
    """The clearing that an answer reports for its request. `asked`: the request's body, if known."""
    found = ProviderEdits(spared=_spared(asked))
    for edit in list_in(dict_in(answer, "context_management"), "applied_edits"):
        kind, tokens = text_in(edit, "type"), number_in(edit, "cleared_input_tokens")
        if kind.startswith(_RESULTS):
            found = found._replace(results=number_in(edit, "cleared_tool_uses"), result_tokens=tokens)
        elif kind.startswith(_THINKING):
            found = found._replace(replies=number_in(edit, "cleared_thinking_turns"), thinking_tokens=tokens)
    return found


def _spared(asked: Mapping[str, Any] | None) -> frozenset[str]:
    edits = list_in(dict_in(asked, "context_management"), "edits")
    clearing = (edit for edit in edits if text_in(edit, "type").startswith(_RESULTS))
    return frozenset(name for edit in clearing for name in list_in(edit, "exclude_tools") if isinstance(name, str))


class ProviderClearing:
    """Tracks what the provider cleared from a conversation in its last request."""

    def __init__(self) -> None:
        self._results: dict[int, str] = {}
        """The tool of each result that is sent, by the sequence number of its event."""
        self._thinking: dict[str, list[int]] = {}
        """The events with the thinking of each reply."""
        self._cleared: frozenset[int] = frozenset()
        self._forgotten: frozenset[int] = frozenset()

    def add_event(self, seq: int, body: Body) -> None:
        """Add the next event of the conversation."""
        match body:
            case ToolResult(tool=tool):
                self._results[seq] = tool
            case Reasoning(reply=reply):
                self._thinking.setdefault(reply or str(seq), []).append(seq)
            case Compaction(first=first, last=last, kept=kept):
                self._drop(range(first, last + 1), {each.seq for each in kept})
            case Override(action="exclude", first=first, last=last, at_provider=False):
                self._drop(range(first, last + 1), set())

    def _drop(self, seqs: range, kept: set[int]) -> None:
        self._results = {seq: tool for seq, tool in self._results.items() if seq not in seqs or seq in kept}
        left = {reply: [seq for seq in each if seq not in seqs] for reply, each in self._thinking.items()}
        self._thinking = {reply: each for reply, each in left.items() if each}

    def is_affected(self, edits: ProviderEdits) -> bool:
        """Whether a request in which this was cleared may change anything."""
        return bool(edits.results or edits.replies or self._cleared or self._forgotten)

    def decisions(self, edits: ProviderEdits) -> list[Override]:
        """The overrides that change with a request in which this was cleared."""
        if not self.is_affected(edits):
            return []
        results = (seq for seq, tool in self._results.items() if tool not in edits.spared)
        cleared = frozenset(islice(results, edits.results))
        forgotten = frozenset(chain.from_iterable(islice(self._thinking.values(), edits.replies)))
        why = _why("tool result", edits.results, edits.result_tokens)
        made = [Override("mask", seq, seq, why, CLEARED, at_provider=True) for seq in sorted(cleared - self._cleared)]
        made += [Override("unmask", seq, seq, at_provider=True) for seq in sorted(self._cleared - cleared)]
        why = _why("reply's thinking", edits.replies, edits.thinking_tokens)
        gone = sorted(forgotten - self._forgotten)
        made += [Override("exclude", seq, seq, why, at_provider=True) for seq in gone]
        made += [Override("include", seq, seq, at_provider=True) for seq in sorted(self._forgotten - forgotten)]
        self._cleared, self._forgotten = cleared, forgotten
        return made


def _why(what: str, count: int, tokens: int) -> str:
    total = f", {tokens:,} tokens in all" if tokens else ""
    others = f"one of {count:,} that were" if count > 1 else "it was"
    return f"cleared by Anthropic before its model saw it: the oldest {what}, {others} cleared{total}"
