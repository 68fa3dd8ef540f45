"""A text area in which what was typed before comes back: step by step, or by a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from textual.message import Message
from textual.reactive import var

from workbench.session.observable import ObservableSession
from workbench.tui.chat.blocks import bare
from workbench.tui.chat.history_search import HistorySearch
from workbench.tui.observing import Observing, observed
from workbench.tui.textual_patches import RestingTextArea
from workbench.views.values import ChatEntry

MOST_LOOKED_AT = 2_000
"""Entries that one key looks through for the user's message before."""
MOST_SEARCHED = 20_000
"""Entries that a search of the history looks through."""


class HistoryTextArea(Observing, RestingTextArea):
    """A draft, which waits while an earlier message is shown or edited in its place."""

    class PastWanted(Message):
        """A search of the history began: what was typed in other sessions is wanted too."""

        def __init__(self, search: HistorySearch) -> None:
            super().__init__()
            self.search = search

    transcript = observed(lambda session: session.transcript, repaint=False)
    editing: var[ChatEntry | None] = var(None)
    """The message that is being said anew."""

    def __init__(self, session: ObservableSession, **options: Any) -> None:
        super().__init__(session, **options)
        self._past: int | None = None
        """The entry that is shown in place of the draft."""
        self._shown = ""
        self._draft = ""
        """What was typed before the past, or an edit, took its place."""
        self._cleared = ""
        """What Ctrl+C threw away; ↑ brings it back."""
        self._search: HistorySearch | None = None

    def search_changed(self) -> None:
        """A search of the history began, found something else, or is over."""

    def _set(self, text: str) -> None:
        self.replace(bare(text), (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    # The past

    def _go_back(self) -> bool:
        if self._cleared and not self.text:
            text, self._cleared = self._cleared, ""
            self._set(text)
            return True
        if self.editing is not None:
            return False
        self._keep_draft()
        start = len(self.transcript) if self._past is None else min(self._past, len(self.transcript))
        return self._show_past(range(start - 1, max(start - 1 - MOST_LOOKED_AT, -1), -1))

    def _go_on(self) -> bool:
        if self._past is None:
            return False
        self._keep_draft()
        end = len(self.transcript)
        if not self._show_past(range(self._past + 1, min(self._past + 1 + MOST_LOOKED_AT, end))):
            self._past = None
            self._set(self._draft)
        return True

    def _keep_draft(self) -> None:
        """What was typed, also over a message of the past, is there again at the end of the way."""
        if self._past is None or self.text != self._shown:
            self._draft = self.text

    def _show_past(self, places: range) -> bool:
        for place in places:
            entry = self.transcript[place]
            if entry.kind == "you":
                self._past = place
                self._set(entry.text)
                self._shown = self.text
                return True
        return False

    def _inputs(self) -> Iterator[str]:
        """What was typed before, the newest first."""
        yield self._cleared
        transcript = self.transcript
        for at in range(len(transcript) - 1, max(-1, len(transcript) - 1 - MOST_SEARCHED), -1):
            entry = transcript[at]
            if entry.kind == "you":
                yield entry.text

    def action_search_history(self) -> None:
        """Search what was typed before; again: further back."""
        if self._search is None:
            self._search = HistorySearch(self._inputs(), self.text)
            self.post_message(self.PastWanted(self._search))
        else:
            self._search.older()
        self._show_found(self._search)

    def add_past(self, search: HistorySearch, inputs: Iterable[str]) -> None:
        """What was typed in other sessions; it comes behind what was typed in this one."""
        search.add(inputs)
        if search is self._search:
            self._show_found(search)

    def _show_found(self, search: HistorySearch) -> None:
        found = search.found
        if found is not None:
            self._set(found)
        self.search_changed()

    @property
    def is_searching(self) -> bool:
        """Whether what is typed searches the history."""
        return self._search is not None

    def end_search(self, *, take: bool) -> None:
        """Keep what was found to go on with, or have the draft back."""
        search, self._search = self._search, None
        if search is not None:
            if not take:
                self._set(search.draft)
            self.search_changed()

    def edit_message(self, entry: ChatEntry) -> None:
        """Say a message anew; the draft waits."""
        if self.editing is None:
            self._draft = self._draft if self._past is not None else self.text
        self._past = None
        self.editing = entry
        self._set(entry.text)

    def leave_edit(self) -> None:
        """Leave it as it was said; the draft is back."""
        self.editing = None
        self._set(self._draft)
