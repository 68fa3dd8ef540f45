"""The input of the chat. A draft is never lost: not by a question, an update, a session switch or a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import TextArea

from workbench.config.text import counted, printable, printable_lines
from workbench.config.values import replace
from workbench.session.observable import ObservableSession
from workbench.tui.chat.blocks import clipboard_text
from workbench.tui.chat.completion import CompletionQuery, completion_query
from workbench.tui.chat.history_area import HistoryTextArea, joined
from workbench.tui.messages import DraftChanged, EditAndResend, RunCommand, Send
from workbench.tui.observing import observed
from workbench.tui.terminal_patches import KEYBOARD, MOST_PASTED
from workbench.tui.widgets.key_names import key_name
from workbench.views.values import FILE, DraftCost

LONG_LINE = 20_000
"""If a line has this many characters, lines are not wrapped: to wrap it again after each key takes too long."""
NEEDS_MODIFIERS = ("shift+enter", "ctrl+enter")
"""Keys that most terminals send as plain Enter."""


_OWN: list[BindingType] = [
    Binding("enter", "send", "send the message", id="composer.send"),
    Binding("shift+enter,ctrl+j,alt+enter", "newline", "a new line; so does \\ before Enter", id="composer.newline"),
    Binding("ctrl+r", "search_history", "search what you typed before; again: older", id="composer.search"),
    Binding("ctrl+c,super+c", "copy", "copy the selection, else clear the input", id="composer.copy"),
    Binding("up", "cursor_up", "a line up; from the first: your message before", id="composer.up", show=False),
    Binding("down", "cursor_down", "a line down; from the last: your next message", id="composer.down", show=False),
    Binding("tab", "complete", "take the completion, or go to the transcript", id="composer.complete"),
    Binding("alt+up", "edit_waiting", "edit the last waiting message", id="composer.edit-waiting"),
    Binding("pageup", "page(-1)", "scroll the chat up", id="composer.page-up", show=False),
    Binding("pagedown", "page(1)", "scroll the chat down", id="composer.page-down", show=False),
]
_FREE = ("up", "down", "pageup", "pagedown", "ctrl+c,super+c", "f6", "f7")
"""Keys of Textual's text area that do something else here. There F6 and F7 select text; here the mouse does."""


def _editing() -> list[BindingType]:
    """The other bindings of Textual's text area, each with an id, so that they can be remapped."""
    return [
        replace(each, id=f"composer.{_slug(each.action)}", description=each.description.lower(), show=False)
        for each in TextArea.BINDINGS
        if isinstance(each, Binding) and each.key not in _FREE
    ]


def _slug(action: str) -> str:
    return action.replace("(True)", "-select").replace("_", "-")


class Composer(HistoryTextArea, inherit_bindings=False):
    """The input area with the draft of a message. Its border shows the tokens of the draft."""

    BINDINGS: ClassVar[list[BindingType]] = [*_OWN, *_editing()]

    @dataclass(eq=False)
    class CompletionWanted(Message):
        """The text at the cursor can be completed, or no longer can (None)."""

        what: CompletionQuery | None

    @dataclass(eq=False)
    class ChoiceMoved(Message):
        """Move the choice among the completions by `step`."""

        step: int

    @dataclass(eq=False)
    class CompletionTaken(Message):
        """Insert the chosen completion."""

        runs: bool = False
        """Whether to run the inserted command at once, if it is complete."""

    class NextWanted(Message):
        """Move the focus to the next widget."""

    class DownPressed(Message):
        """↓ was pressed in the empty input."""

    class QueuedWanted(Message):
        """Put the last queued message back into the input."""

    @dataclass(eq=False)
    class ScrollPage(Message):
        """Scroll the transcript by `step` pages."""

        step: int

    draft_cost = observed(lambda session: session.draft_cost, repaint=False)
    refusal = observed(lambda session: session.refusal, repaint=False)
    """Why no message can be sent; empty if one can. Slash commands are always possible."""
    fixed = observed(lambda session: session.read_only, repaint=False)
    """Why the session cannot be changed; empty if it can. A message to an opened file creates a session first."""
    completing: var[bool] = var(False)
    """Whether completions are shown."""

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(
            session, soft_wrap=True, tab_behavior="focus", show_line_numbers=False, highlight_cursor_line=False
        )
        self._wants: CompletionQuery | None = None
        self._has_chosen = False
        """Whether the user chose a completion with the arrows: then Enter inserts it, whatever was typed."""

    def on_mount(self) -> None:
        self._title()

    # The text on the frame

    def search_changed(self) -> None:
        """Show what is searched for; hide completions meanwhile."""
        self._title()
        self._ask_for_completions(self.text)

    def watch_draft_cost(self) -> None:
        """Show the tokens of the draft."""
        self._title()

    def watch_refusal(self) -> None:
        """Show why nothing can be sent."""
        self._title()

    def watch_fixed(self) -> None:
        """Show what a message to an opened file does: it creates a session."""
        self._title()

    def watch_editing(self) -> None:
        """Show that an edit goes into a fork."""
        self._title()

    def _title(self) -> None:
        if self._search is not None:
            missing = "" if self._search.found is not None else " · nothing found"
            keys = " · Ctrl+R older · Enter use it · Esc cancel"
            typed = " ".join(printable_lines(self._search.query))
            self.border_title = Content.styled(f"history: {typed}▏{missing}{keys}", "$accent")
            return
        if self.refusal:
            title = Content.styled(f"read-only: {printable(self.refusal)}", "$warning")
        elif self.editing is not None:
            title = Content.styled(f"editing message {self.editing.seq}: sends into a fork · Esc cancels", "$warning")
        elif self.fixed == FILE:
            title = Content.styled("read-only: a message makes a session of it", "$quiet")
        else:
            title = Content("message")
        cost = cost_line(self.draft_cost) if self.text.strip() and self.draft_cost.tokens else None
        self.border_title = title if cost is None else Content.assemble(title, " · ", cost)

    # Sending

    async def on_key(self, event: events.Key) -> None:
        """Handle Enter here: a priority binding would overtake keys typed just before it."""
        found = self.screen.active_bindings.get(event.key)
        action = found.binding.action if found is not None and found.node is self else ""
        if event.is_printable or action == "delete_left":
            taken = self._takes(event)
        else:
            if action not in ("send", "search_history") and event.key != "escape":
                self.end_search(keep=True)
            taken = action in ("send", "newline")
        if taken:
            event.stop()
            event.prevent_default()
        if action in ("send", "newline"):
            await self.run_action(action)

    def _takes(self, event: events.Key) -> bool:
        """Pass the key to the history search, if one is open, or open the help for `?`. Return whether it was used."""
        if self._search is None:
            if self.text or self.editing is not None:
                return False
            if event.character == "?":
                self.post_message(RunCommand("help"))
            return event.character == "?"
        if event.character is not None and event.is_printable:
            self._search.type(event.character)
        else:
            self._search.erase()
        self._show_found(self._search)
        return True

    def action_send(self) -> None:
        """Send the message, or run the slash command. An edited message is sent in a fork of the session.

        What was typed before an edit, or before an earlier message was shown, comes back then.
        Enter first ends a history search, turns a backslash before the cursor into a new line, or inserts a completion.
        """
        if self._search is not None:
            self.end_search(keep=True)
            return
        row, column = self.cursor_location
        if self.document.get_line(row)[:column].endswith("\\") and self.selection.is_empty:
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
            return
        runs = self._wants is not None and self._wants.kind == "slash" and self._is_whole_command()
        if self.completing and (self._has_chosen or not runs):
            self.post_message(self.CompletionTaken(runs=True))
            return
        text = self.text
        if not text.strip():
            return
        if self.refusal and (self.editing is not None or not text.startswith("/")):
            self.notify(self.refusal, severity="warning", markup=False)
            return
        editing = self.editing
        self.show_draft()
        self.post_message(Send(text) if editing is None else EditAndResend(editing.seq, text, self.opened))

    def _is_whole_command(self) -> bool:
        """Whether the text is a complete command, perhaps with a trailing blank from Tab, so that Enter runs it."""
        return self.text.rstrip() in self.commands or " " in self.text

    commands: frozenset[str] = frozenset()
    """The offered slash commands, as text."""

    def action_newline(self) -> None:
        self.end_search(keep=True)
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def type(self, text: str) -> None:
        """Insert at the cursor what was pasted, or typed elsewhere; in a history search, search for it."""
        if self._search is None:
            self.replace(clipboard_text(text), *self.selection, maintain_selection_offset=False)
        else:
            self._search.type(clipboard_text(text).strip("\n"))
            self._show_found(self._search)

    def insert_above_draft(self, text: str) -> None:
        """Put a text above the current draft."""
        self.end_search(keep=False)
        self._set(joined(text, self.text))

    def on_paste(self, event: events.Paste) -> None:
        """Insert pasted text, without control characters and up to a maximum length."""
        event.prevent_default()
        event.stop()
        self.type(event.text[:MOST_PASTED])
        if len(event.text) > MOST_PASTED:
            warning = f"only the first {MOST_PASTED:,} characters were pasted; name the file instead, as in @notes.txt"
            self.notify(warning, severity="warning", markup=False)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Ask for the tokens of the draft, and for completions."""
        event.stop()
        self.soft_wrap = all(len(line) < LONG_LINE for line in self.document.lines)
        text = self.text
        self._title()
        self.post_message(DraftChanged(text))
        self._ask_for_completions(text)

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Ask again for completions: the cursor may be somewhere else."""
        event.stop()
        self._ask_for_completions(self.text)

    def _ask_for_completions(self, text: str) -> None:
        row, column = self.cursor_location
        line = self.document.get_line(row)
        before = text if text.startswith("/") else line[:column]
        wants = completion_query(before, (row, column) == self.document.end) if self._search is None else None
        if wants != self._wants:
            self._wants, self._has_chosen = wants, False
            self.post_message(self.CompletionWanted(wants))

    def complete(self, kind: str, text: str) -> None:
        """Replace the typed part by a completion."""
        if kind == "slash":
            self._set(text)
            return
        row, column = self.cursor_location
        start = self.document.get_line(row).rfind("@", 0, column)
        if start >= 0:
            self.replace(text, (row, start), (row, column), maintain_selection_offset=False)

    # Keys

    def action_complete(self) -> None:
        """Insert the completion; without one, move the focus."""
        if self.completing:
            self.post_message(self.CompletionTaken())
        else:
            self.post_message(self.NextWanted())

    def action_edit_waiting(self) -> None:
        """Put the last queued message back into the input."""
        self.post_message(self.QueuedWanted())

    def action_page(self, step: int) -> None:
        """Scroll the transcript while typing."""
        self.post_message(self.ScrollPage(step))

    def action_cursor_up(self, select: bool = False) -> None:
        """Move a line up; from the first line, show the user's previous message."""
        if self.completing and not select:
            self._choose(-1)
        elif select or self._row() > 0 or not self._go_back():
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move a line down; from the last line, show the next message, and finally the draft."""
        if self.completing and not select:
            self._choose(1)
        elif not self.text and not select and self._past is None:
            self.post_message(self.DownPressed())
        elif select or self._row() < self.wrapped_document.height - 1 or not self._go_on():
            super().action_cursor_down(select)

    def _choose(self, step: int) -> None:
        self._has_chosen = True
        self.post_message(self.ChoiceMoved(step))

    def _row(self) -> int:
        """The row of the cursor in the wrapped text."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    @property
    def newline_key(self) -> str:
        """The name of the newline key that this terminal can send."""
        bound = [key for key, each in self.screen.active_bindings.items() if each.binding.id == "composer.newline"]
        usable = [key for key in bound if KEYBOARD.reports_modifiers or key not in NEEDS_MODIFIERS]
        return key_name(usable[0]) if usable else "\\ Enter" if bound else "Ctrl+J"

    # Editing

    def action_copy(self) -> None:
        """Copy the selection; without one, clear the input, which ↑ brings back."""
        if self.selected_text:
            super().action_copy()
        elif self.screen.get_selected_text():
            self.screen.action_copy_text()
        elif self._search is not None:
            self.end_search(keep=False)
        elif self.text:
            self._cleared = self.text
            self.clear()
            self.notify("cleared; ↑ brings it back", markup=False)
        else:
            raise SkipAction


def cost_line(cost: DraftCost) -> Content:
    """The cost of a draft: `212 tokens, leaves 43,578`, how much of the reserve it uses, or that it does not fit."""
    tokens = f"{'' if cost.exact else 'about '}{counted(cost.tokens, 'token')}"
    if cost.room >= 0:
        left = f"leaves {cost.free:,}" if cost.free >= 0 else f"takes {-cost.free:,} of the reserve"
        return Content(f"{tokens}, {left}")
    return Content.assemble((f"does not fit: {-cost.room:,} too many", "bold $error"), f" · {tokens}")
