"""The transcript as lines. Only the lines in view are made."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import NamedTuple

from textual.content import Content

from workbench.tui.chat import markdown
from workbench.tui.chat.blocks import CLOSED, FOLDED, MORE_ROWS, DrawnEntry, EntryFold, clipboard_text, draw_entry
from workbench.tui.chat.code_colours import AT_ONCE
from workbench.tui.chat.heights import EntryHeights
from workbench.tui.chat.live import LiveLines
from workbench.views.values import ChatEntry, EntryState, LiveAnswer, LiveCall, Transcript

GUESS = 4
"""The assumed height of an entry that was not drawn yet."""
MOST_KEPT = 400
"""The most entries whose lines are cached: several screens."""
RECENT = 64
"""The number of entries at the end that are searched for running calls."""


class KeptEntry(NamedTuple):
    """An entry's lines, and everything they depend on."""

    version: int
    entry: ChatEntry
    state: EntryState | None
    fold: EntryFold
    live: LiveCall | None
    drawn: DrawnEntry

    @property
    def key(self) -> tuple[ChatEntry, EntryState | None, EntryFold, LiveCall | None]:
        """What the lines depend on, apart from the width."""
        return self.entry, self.state, self.fold, self.live


class ReasoningChoice(NamedTuple):
    """Whether the user folded or unfolded the reasoning of a streaming answer; its entry keeps that state."""

    reply: str
    is_open: bool


class TranscriptLines:
    """Finds and draws the lines of the chat."""

    def __init__(self, colour: markdown.Colour = AT_ONCE, folder: str = "") -> None:
        """`colour` may have better colours later: see `recolour`. `folder`: the project's."""
        self._folder = folder
        self._render = partial(markdown.render_markdown, colour=colour)
        self.width = 0
        self.heights = EntryHeights(0, GUESS)
        self.live = LiveLines(0, folder)
        self._transcript: Transcript | None = None
        self._live_answer: LiveAnswer | None = None
        self._version = 0
        self._first = ""
        self._kept: OrderedDict[int, KeptEntry] = OrderedDict()
        self._folds: dict[int, EntryFold] = {}
        """By event, so that they survive when entries are made again."""
        self._calls: dict[str, LiveCall] = {}
        self._reasoning_choice: ReasoningChoice | None = None

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.heights)

    @property
    def total(self) -> int:
        """The number of lines, including those of a streaming answer."""
        return self.heights.total + len(self.live)

    @property
    def places(self) -> int:
        """The number of cursor positions: the entries, and a streaming answer with reasoning to unfold."""
        return len(self) + self.live.unfolds

    def span(self, index: int) -> tuple[int, int]:
        """The first line and the height of an entry, or of the streaming answer after the last one."""
        if index >= len(self):
            return self.heights.total, len(self.live)
        self.drawn(index)
        return self.heights.top(index), self.heights[index]

    def resize(self, width: int) -> None:
        """Set another width and clear all heights and lines."""
        if width == self.width:
            return
        self.width = width
        self._kept.clear()
        self.heights = EntryHeights(len(self.heights), GUESS)
        self.live = LiveLines(width, self._folder)
        self._take_live()

    def update_transcript(self, transcript: Transcript | None, live: LiveAnswer | None) -> bool:
        """Show the current transcript and answer; returns whether it is another session."""
        another = False
        if transcript is not self._transcript:
            self._transcript = transcript
            self._version += 1
            count = 0 if transcript is None else len(transcript)
            first = transcript[0].id if transcript is not None and count else ""
            another = count < len(self.heights) or (first != self._first and len(self.heights) > 0)
            self._first = first
            if another:
                self._kept.clear()
                self._folds.clear()
                self._reasoning_choice = None
                self.heights = EntryHeights(0, GUESS)
            before = len(self.heights)
            self.heights.grow(count)
            self._keep_open(before)
        self._live_answer = live
        self._calls = {call.call_id: call for call in live.calls} if live else {}
        self._take_live()
        return another

    def _keep_open(self, first: int) -> None:
        """Keep reasoning that the user unfolded open once its answer, the first of the new entries, is in the log."""
        if self._reasoning_choice is None or not self._reasoning_choice.is_open:
            return
        for index in range(first, len(self)):
            entry = self.entry(index)
            if entry.kind == "reasoning":
                self._folds[entry.seq] = CLOSED._replace(is_open=True)
                self._reasoning_choice = None
            elif self._reasoning_choice is None:  # what follows is of the answer after it
                return

    def _take_live(self) -> None:
        shown_calls: set[str] = set()
        if self._calls:
            for index in range(max(0, len(self) - RECENT), len(self)):
                call = self.entry(index).call
                if call and call.result is None:
                    shown_calls.add(call.call_id)
        choice, answer = self._reasoning_choice, self._live_answer
        if choice and answer and answer.reasoning and answer.reply != choice.reply:
            choice = self._reasoning_choice = None
        if self.width:
            self.live.update_live(answer, shown_calls, choice.is_open if choice else None)

    def recolour(self) -> None:
        """Draw again because new colours are known; heights do not change."""
        self._kept.clear()

    def index_of(self, seq: int) -> int:
        """The index of the entry that shows an event."""
        return 0 if self._transcript is None else self._transcript.index_of(seq)

    def entry(self, index: int) -> ChatEntry:
        kept = self._kept.get(index)
        if kept is not None and kept.version == self._version:
            return kept.entry
        assert self._transcript is not None, "without a transcript there are no entries"
        return self._transcript[index]

    def drawn(self, index: int) -> DrawnEntry:
        """An entry's lines. This also sets its height."""
        kept = self._kept.get(index)
        entry = self.entry(index)
        if kept is not None and kept.version == self._version:
            state = kept.state
        else:
            assert self._transcript is not None, "without a transcript there are no entries"
            state = self._transcript.entry_state(entry)
        fold = self._folds.get(entry.seq, CLOSED)
        live = self._calls.get(entry.call.call_id) if entry.call and entry.call.result is None else None
        if kept is not None and kept.key == (entry, state, fold, live):
            drawn = kept.drawn
        else:
            drawn = draw_entry(entry, state, self.width, fold, live, self._render, self._folder)
        self._kept[index] = KeptEntry(self._version, entry, state, fold, live, drawn)
        self._kept.move_to_end(index)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        self.heights.set_height(index, len(drawn.lines))
        return drawn

    def line(self, at: int) -> tuple[int, Content]:
        """The entry at a line, and the line; after the last entry come the streaming answer and then empty lines."""
        index, offset = self.heights.at(at)
        if index < len(self):
            lines = self.drawn(index).lines
            return index, lines[offset] if offset < len(lines) else Content()
        return index, self.live[offset] if offset < len(self.live) else Content()

    def measure(self, index: int, offset: int, height: int) -> None:
        """Draw the entries from line `offset` of entry `index` for `height` lines down and up.

        Their real heights are known then.
        """
        room = height + offset
        for below in range(index, len(self)):
            if room <= 0:
                break
            room -= len(self.drawn(below).lines)
        room = height - offset
        for above in range(min(index, len(self)) - 1, -1, -1):
            if room <= 0:
                break
            room -= len(self.drawn(above).lines)

    # Folding

    def toggle(self, index: int) -> None:
        """Fold or unfold an entry."""
        if index >= len(self):
            self._toggle_live()
            return
        seq = self.entry(index).seq
        fold = self._folds.get(seq, CLOSED)
        self._folds[seq] = CLOSED if fold.is_open else fold._replace(is_open=True)

    def _toggle_live(self) -> None:
        choice = self._reasoning_choice
        if self._live_answer is not None:
            is_open = choice is None or not choice.is_open
            self._reasoning_choice = ReasoningChoice(self._live_answer.reply, is_open)
            self._take_live()

    def more(self, index: int) -> None:
        """Show more of a long result, or all of a huge message."""
        entry = self.entry(index)
        fold = self._folds.get(entry.seq, CLOSED)
        if entry.kind in FOLDED and not fold.is_open:
            fold = fold._replace(is_open=True)
        elif entry.kind == "tool":
            fold = fold._replace(rows=fold.rows + MORE_ROWS)
        else:
            fold = fold._replace(whole=True)
        self._folds[entry.seq] = fold

    def text_of(self, index: int) -> str:
        """The text of an entry, or of the streaming answer so far, for the clipboard."""
        if index >= len(self):
            return clipboard_text(self._live_answer.text or self._live_answer.reasoning) if self._live_answer else ""
        entry = self.entry(index)
        if entry.call is None:
            return clipboard_text(entry.text)
        return clipboard_text(
            "\n".join(filter(None, [f"{entry.call.tool} {entry.call.arguments}".strip(), entry.call.result]))
        )
