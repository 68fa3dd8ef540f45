"""The transcript, and the keys that act on an entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from workbench.tui.chat.window import TranscriptWindow
from workbench.tui.messages import Jump, MarkEvent, RunCommand
from workbench.tui.observing import observed
from workbench.views.context_view import ContextView
from workbench.views.values import ChatEntry


class TranscriptView(TranscriptWindow, inherit_bindings=False):
    """The messages so far, and the streaming answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "the entry above", id="chat.up", show=False),
        Binding("down,j", "move(1)", "the entry below", id="chat.down", show=False),
        Binding("pageup", "page(-1)", "a page up", id="chat.page-up", show=False),
        Binding("pagedown", "page(1)", "a page down", id="chat.page-down", show=False),
        Binding("home,g", "first", "to the beginning", id="chat.first", show=False),
        Binding("end,G", "last", "to the end, and follow", id="chat.last", show=False),
        Binding("enter,space", "fold", "unfold or fold", id="chat.fold"),
        Binding("plus", "more", "show more of it", id="chat.more"),
        Binding("y", "copy", "copy its text", id="chat.copy"),
        Binding("e", "edit", "edit your message and send it into a fork", id="chat.edit"),
        Binding("R", "retry", "ask the model again; says first what it sends", id="chat.retry"),
        Binding("o", "inspect", "show it in the context", id="chat.inspect"),
    ]

    context = observed(lambda session: session.shown, repaint=False)
    followed_file = observed(lambda session: session.following, repaint=False)

    @dataclass(eq=False)
    class EditAsked(Message):
        entry: ChatEntry

    def watch_context(self, old: ContextView | None, new: ContextView | None) -> None:
        """Scroll to the end of the selected request; a growing file does not scroll."""
        if new is None or (old is not None and self.followed_file and new.requests is not old.requests):
            return
        if new.at is not None and not (self.followed_file and new.is_newest):
            self.call_later(self.show, new.requests[new.at].upto)
        elif old is not None and old.at is not None:
            self.call_later(self.follow)

    def watch_followed_file(self, old: str, new: str) -> None:
        """Follow new messages if the newest request is selected."""
        if new and not old and self.context is not None and self.context.is_newest:
            self.call_later(self.follow)

    def on_focus(self) -> None:
        """Put the cursor on an entry in view."""
        if self.cursor is None or not self._in_view(self.cursor):
            self.cursor = self._last_in_view()
        self.refresh()

    def watch_cursor(self) -> None:
        """Show the same event in the context."""
        if self.has_focus and (seq := self._counterpart()) is not None:
            self.post_message(MarkEvent(seq, "inspector"))

    def on_blur(self) -> None:
        """End the highlight of a jump."""
        self._jumped = False
        self.refresh()

    def _in_view(self, index: int) -> bool:
        if index >= self.lines.places:
            return False
        top, tall = self.lines.span(index)
        return top < self._bottom and top + tall > self.scroll_offset.y

    def _at(self, line: int) -> int | None:
        """The cursor position at a line."""
        count = self.lines.places
        return min(self.lines.heights.at(line)[0], count - 1) if count else None

    def _last_in_view(self) -> int | None:
        return self._at(self._bottom - 1)

    def action_move(self, step: int) -> None:
        """Move to another entry; scroll within an entry that is taller than the view."""
        if self.cursor is None or not self._in_view(self.cursor):
            self.cursor = self._at(self._bottom - 1 if step < 0 else self.scroll_offset.y)
        if self.cursor is None:
            return
        height = self.scrollable_content_region.height
        top, tall = self.lines.span(self.cursor)
        end = top + tall
        if step > 0 and end > self._bottom:
            self._go(min(self.scroll_offset.y + max(height - 2, 1), end - height))
        elif step < 0 and top < self.scroll_offset.y:
            self._go(max(self.scroll_offset.y - max(height - 2, 1), top))
        elif 0 <= self.cursor + step < self.lines.places:
            self.cursor += step
            self._show(self.cursor, from_below=step < 0)
        elif step > 0:
            self.action_last()

    def action_page(self, step: int) -> None:
        """Scroll a page up or down, with one line of overlap."""
        self._go(self.scroll_offset.y + step * max(self.scrollable_content_region.height - 1, 1))
        if self.cursor is not None and not self._in_view(self.cursor):
            self.cursor = self._last_in_view()

    def action_first(self) -> None:
        self.cursor = self._at(0)
        self._go(0)

    def action_last(self) -> None:
        """Scroll to the end and follow it."""
        self.cursor = self.lines.places - 1 if self.lines.places else None
        self.following = True
        self._arrange()

    def _entry(self) -> ChatEntry | None:
        return None if self.cursor is None or self.cursor >= len(self.lines) else self.lines.entry(self.cursor)

    def action_fold(self) -> None:
        """Unfold or fold the entry, or the reasoning of the streaming answer."""
        if self.cursor is not None and self.cursor < self.lines.places:
            self.lines.toggle(self.cursor)
            self._opened(self.cursor)

    def action_more(self) -> None:
        if self._entry() is not None and self.cursor is not None:
            self.lines.more(self.cursor)
            self._opened(self.cursor)

    def _opened(self, index: int) -> None:
        """Stop following the end after an entry was unfolded, unless the end is still in view."""
        self.lines.span(index)
        self.following = self.following and self.lines.total <= self._bottom
        self._arrange()

    def action_copy(self) -> None:
        if self.cursor is not None and self.cursor < self.lines.places:
            text = self.lines.text_of(self.cursor)
            self.app.copy_to_clipboard(text)
            self.notify(f"copied {len(text):,} characters", markup=False)

    def action_edit(self) -> None:
        entry = self._entry()
        if entry is None or entry.kind != "you":
            self.notify("only your own messages can be edited", severity="warning", markup=False)
        else:
            self.post_message(self.EditAsked(entry))

    def action_retry(self) -> None:
        """Ask the model again; the command asks for confirmation."""
        self.post_message(RunCommand("retry"))

    def action_inspect(self) -> None:
        if (seq := self._counterpart()) is not None:
            self.post_message(Jump(seq, "inspector"))

    def _counterpart(self) -> int | None:
        """The event to select in the inspector; for a call its result, which has most of the tokens."""
        entry = self._entry()
        if entry is None:
            return None
        return entry.call.result_seq if entry.call and entry.call.result_seq else entry.seq

    def on_click(self, event: events.Click) -> None:
        """Select the entry under the mouse; its first line folds it, and the line that offers more shows more."""
        index, offset = self.lines.heights.at(event.y + self.scroll_offset.y)
        if index >= self.lines.places:
            return
        self.cursor = index
        if index == len(self.lines):
            if offset == 0:
                self.action_fold()
            self.refresh()
            return
        drawn = self.lines.drawn(index)
        if offset == drawn.more:
            self.action_more()
        elif offset == drawn.head and self.lines.entry(index).kind != "you":
            self.action_fold()
        self.refresh()
