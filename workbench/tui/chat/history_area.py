"""A text area with a history: earlier messages come back one by one, or by a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from textual.message import Message
from textual.reactive import var

from workbench.session.observable import ObservableSession
from workbench.tui.chat.blocks import clipboard_text
from workbench.tui.observing import Observing, observed
from workbench.tui.text_areas import RestingTextArea
from workbench.views.values import ChatEntry


class HistorySearch:
    """A search text and its matches. Each match appears once; inputs are read only as far as needed."""

    def __init__(self, inputs: Iterable[str], draft: str) -> None:
        """`inputs`: the newest first. `draft`: the current input, which comes back if the search is cancelled."""
        self.draft = draft
        self.query = ""
        self._inputs: Iterator[str] = iter(inputs)
        self._known: dict[str, None] = {}
        self._at = 0
        """The number of newer matches than the one that is shown."""

    @property
    def found(self) -> str | None:
        """The current match; None if nothing matches."""
        return self._match(self._at)

    def type(self, text: str) -> None:
        """Add to the search text, and start again from the newest."""
        self.query += text
        self._at = 0

    def erase(self) -> None:
        """Remove the last character of the search text."""
        self.query = self.query[:-1]
        self._at = 0

    def older(self) -> None:
        """Go to the next older match; stay at the oldest."""
        if self._match(self._at + 1) is not None:
            self._at += 1

    def add_older_inputs(self, inputs: Iterable[str]) -> None:
        """Add older inputs, which took longer to find."""
        self._inputs = chain(self._inputs, inputs)

    def _match(self, number: int) -> str | None:
        sought = self.query.lower()
        for text in self._texts():
            if sought in text.lower():
                if number == 0:
                    return text
                number -= 1
        return None

    def _texts(self) -> Iterable[str]:
        yield from list(self._known)
        for text in self._inputs:
            if text.strip() and text not in self._known:
                self._known[text] = None
                yield text


MOST_LOOKED_AT = 2_000
"""The most entries that one key press searches for the user's previous message."""
MOST_SEARCHED = 20_000
"""The most entries that a history search reads."""


def joined(text: str, draft: str) -> str:
    """A text above a draft."""
    return "\n\n".join(each for each in (text, draft) if each.strip())


class HistoryTextArea(Observing, RestingTextArea):
    """A text area that keeps the draft while it shows or edits an earlier message."""

    @dataclass(eq=False)
    class PastWanted(Message):
        """A history search has started and needs the messages of other sessions, too."""

        search: HistorySearch

    opened = observed(lambda session: session.opened, repaint=False)
    transcript = observed(lambda session: session.transcript, repaint=False)
    editing: var[ChatEntry | None] = var(None)
    """The message that the user is editing."""

    def __init__(self, session: ObservableSession, **options: Any) -> None:
        super().__init__(session, **options)
        self._past: int | None = None
        """The entry that is shown instead of the draft; behind the last one, for a message that was searched for."""
        self._past_text = ""
        """The earlier message that is shown or edited, as it was sent."""
        self._shown = ""
        """The same as it was before the user typed in it."""
        self._changed: dict[str, str] = {}
        """Earlier messages that the user has changed and not sent, by their text."""
        self._draft = ""
        """The draft, while an earlier message or an edit is shown."""
        self._cleared = ""
        """The text that Ctrl+C cleared; ↑ brings it back."""
        self._search: HistorySearch | None = None

    def search_changed(self) -> None:
        """Called when a history search starts, finds something else, or ends."""

    def _set(self, text: str) -> None:
        self.replace(clipboard_text(text), (0, 0), self.document.end, maintain_selection_offset=False)
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
        """Keep the draft, or the changes to an earlier message: stepping back to either of them shows it again."""
        if self._past is None and self.editing is None:
            self._draft = self.text
        elif self.text != self._shown:
            self._changed[self._past_text] = self.text

    def _show_past(self, places: range) -> bool:
        for place in places:
            entry = self.transcript[place]
            if entry.kind == "you":
                self._past, self._past_text = place, entry.text
                self._set(self._changed.get(entry.text, entry.text))
                self._shown = self.text
                return True
        return False

    def _inputs(self) -> Iterator[str]:
        """Earlier inputs, the newest first."""
        yield self._cleared
        transcript = self.transcript
        for at in range(len(transcript) - 1, max(-1, len(transcript) - 1 - MOST_SEARCHED), -1):
            entry = transcript[at]
            if entry.kind == "you":
                yield entry.text

    def action_search_history(self) -> None:
        """Start a history search; again: find an older match."""
        if self._search is None:
            self._keep_draft()
            self._search = HistorySearch(self._inputs(), self.text)
            self.post_message(self.PastWanted(self._search))
        else:
            self._search.older()
        self._show_found(self._search)

    def add_past(self, search: HistorySearch, inputs: Iterable[str]) -> None:
        """Add the inputs of other sessions after those of this one."""
        search.add_older_inputs(inputs)
        if search is self._search:
            self._show_found(search)

    def _show_found(self, search: HistorySearch) -> None:
        found = search.found
        if found is not None:
            self._set(found)
        self.search_changed()

    @property
    def is_searching(self) -> bool:
        """Whether typing goes to the history search."""
        return self._search is not None

    def end_search(self, *, keep: bool) -> None:
        """End the search; `keep` the match, so that stepping forward shows the draft, or bring back the draft."""
        search, self._search = self._search, None
        if search is not None:
            if not keep:
                self._set(search.draft)
            elif self.text != search.draft and self.editing is None:
                self._past, self._past_text, self._shown = len(self.transcript), self.text, self.text
            self.search_changed()

    def edit_message(self, entry: ChatEntry) -> None:
        """Edit a message; the draft is kept."""
        self._keep_draft()
        self._past, self._past_text = None, entry.text
        self.editing = entry
        self._set(self._changed.get(entry.text, entry.text))
        self._shown = self.text

    def leave_edit(self) -> None:
        """Drop the edit and bring back the draft."""
        self._changed.pop(self._past_text, None)
        self.editing = None
        self._set(self._draft)

    def show_draft(self) -> None:
        """Bring back the draft, in place of a text that was sent; empty if that was the draft itself."""
        draft = ""
        if self.editing is not None or self._past is not None:
            draft = self._draft
            self._changed.pop(self._past_text, None)
        self.editing, self._past, self._cleared = None, None, ""
        self._set(draft)

    def watch_opened(self) -> None:
        """End an edit when another session is opened: its message is not in that one. The text is kept."""
        if self._past is not None:
            self._past = len(self.transcript)
        if self.editing is None:
            return
        self.end_search(keep=False)
        changed = "" if self.text == self._shown else self.text
        self._draft = joined(changed, self._draft)
        self.leave_edit()
        kept = "; its text is your draft now" if changed else ""
        self.notify(f"another session was opened: the edit has ended{kept}", severity="warning", markup=False)
