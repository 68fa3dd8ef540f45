"""Where the user types. What is typed is never lost: not to a question, an update, a session switch or a key."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import TextArea

from workbench.config.text import counted
from workbench.session.values import ChatEntry, DraftCost, Transcript
from workbench.tui.chat.blocks import bare
from workbench.tui.chat.completion import CompletionQuery, completion_query
from workbench.tui.messages import Drafting, EditAndResend, Send
from workbench.tui.textual_patches import MOST_PASTED, RestingTextArea

LONG_LINE = 20_000
"""Characters in one line from which on lines are not wrapped: to wrap such a line anew for each key takes too long."""
MOST_LOOKED_AT = 2_000
"""Entries that one key looks through for the user's message before."""


_OWN: list[BindingType] = [
    Binding("enter", "send", "send the message", id="composer.send"),
    Binding("shift+enter,ctrl+j,alt+enter", "newline", "a new line", id="composer.newline"),
    Binding("up", "cursor_up", "a line up; from the first: your message before", id="composer.up", show=False),
    Binding("down", "cursor_down", "a line down; from the last: your next message", id="composer.down", show=False),
    Binding("tab", "complete", "take the completion, or go to the transcript", id="composer.complete"),
    Binding("alt+up", "take_back", "take back the last waiting message", id="composer.take-back"),
    Binding("pageup", "page(-1)", "scroll the chat up", id="composer.page-up", show=False),
    Binding("pagedown", "page(1)", "scroll the chat down", id="composer.page-down", show=False),
]
_FREE = ("up", "down", "pageup", "pagedown", "f6", "f7")
"""Keys of Textual's text area that mean something else here; the last two select lines, as the mouse does."""


def _editing() -> list[BindingType]:
    """What else Textual's text area does by key, with an id for each, so that all of it can be remapped."""
    return [
        replace(each, id=f"composer.{_slug(each.action)}", description=each.description.lower(), show=False)
        for each in TextArea.BINDINGS
        if isinstance(each, Binding) and each.key not in _FREE
    ]


def _slug(action: str) -> str:
    return action.replace("(True)", "-select").replace("_", "-")


class Composer(RestingTextArea, inherit_bindings=False):
    """The draft, what it would cost, and the messages before it."""

    BINDINGS: ClassVar[list[BindingType]] = [*_OWN, *_editing()]

    class Wants(Message):
        """What is being typed can be completed, or cannot any more."""

        def __init__(self, what: CompletionQuery | None) -> None:
            super().__init__()
            self.what = what

    class Choose(Message):
        """Another completion."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Take(Message):
        """The chosen completion, please."""

    class Leave(Message):
        """The focus goes on."""

    class Down(Message):
        """There is nothing below in here."""

    class Back(Message):
        """The last waiting message, please."""

    class ScrollPage(Message):
        """Scroll the transcript."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    transcript: var[Transcript | None] = var(None)
    draft_cost: var[DraftCost] = var(DraftCost())
    refusal: var[str] = var("")
    """Why no message can be sent, where that is so; commands can all the same."""
    editing: var[ChatEntry | None] = var(None)
    """The message that is being said anew."""
    completing: var[bool] = var(False)
    """Whether completions are offered."""

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, tab_behavior="focus", show_line_numbers=False, highlight_cursor_line=False)
        self._past: int | None = None
        """The entry that is shown in place of the draft."""
        self._shown = ""
        self._draft = ""
        """What was typed before the past, or an edit, took its place."""
        self._wants: CompletionQuery | None = None

    def on_mount(self) -> None:
        """Say what this is for."""
        self._title()

    # What is told on the frame

    def watch_draft_cost(self) -> None:
        """Say what the draft would cost."""
        self._title()

    def watch_refusal(self) -> None:
        """Say why nothing can be sent."""
        self._title()

    def watch_editing(self) -> None:
        """Say that this goes into a fork."""
        self._title()

    def _title(self) -> None:
        if self.refusal:
            title = Content.styled(f"read-only: {bare(self.refusal)}", "$warning")
        elif self.editing is not None:
            title = Content.styled(f"editing message {self.editing.seq}: sends into a fork · Esc leaves", "$warning")
        else:
            title = Content("message")
        cost = cost_line(self.draft_cost) if self.text and self.draft_cost.total else None
        self.border_title = title if cost is None else Content.assemble(title, " · ", cost)

    # Sending

    async def on_key(self, event: events.Key) -> None:
        """Send in order: a binding with priority would overtake the keys that were typed just before it."""
        if not event.is_printable:
            found = self.screen.active_bindings.get(event.key)
            if found is not None and found.node is self and found.binding.action in ("send", "newline"):
                event.stop()
                event.prevent_default()
                await self.run_action(found.binding.action)

    def action_send(self) -> None:
        """Say it, or run it where it is a slash command; an edit goes into a fork."""
        if self.completing and not (self._wants and self._wants.kind == "slash" and self._is_whole_command()):
            self.post_message(self.Take())
            return
        text = self.text
        if not text.strip():
            return
        if self.refusal and (self.editing is not None or not text.startswith("/")):
            self.notify(self.refusal, severity="warning", markup=False)
            return
        editing, self.editing = self.editing, None
        self._past, self._draft = None, ""
        self.clear()
        self.post_message(Send(text) if editing is None else EditAndResend(editing.seq, text))

    def _is_whole_command(self) -> bool:
        """Whether what was typed is a command already, so that Enter runs it."""
        return self.text.rstrip() in self.commands or " " in self.text.strip()

    commands: frozenset[str] = frozenset()
    """The completions on offer, as they would stand here."""

    def action_newline(self) -> None:
        """A new line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def type(self, text: str) -> None:
        """Put in at the cursor what was typed elsewhere."""
        self.replace(bare(text), *self.selection, maintain_selection_offset=False)

    def give(self, text: str) -> None:
        """Put a whole text here; what was typed stays, under it."""
        typed = self.text
        self._set(text if not typed.strip() else f"{text}\n\n{typed}")

    def _set(self, text: str) -> None:
        self.replace(bare(text), (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text loses what a terminal would act on."""
        event.prevent_default()
        event.stop()
        self.type(event.text[:MOST_PASTED])
        if len(event.text) > MOST_PASTED:
            said = f"only the first {MOST_PASTED:,} characters were pasted; name the file instead, as in @notes.txt"
            self.notify(said, severity="warning", markup=False)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Ask what the draft costs, and what could complete it."""
        event.stop()
        self.soft_wrap = all(len(line) < LONG_LINE for line in self.document.lines)
        text = self.text
        self._title()
        self.post_message(Drafting(text))
        self._look(text)

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """The cursor may have left what was being completed."""
        event.stop()
        self._look(self.text)

    def _look(self, text: str) -> None:
        row, column = self.cursor_location
        line = self.document.get_line(row)
        before = text if text.startswith("/") else line[:column]
        wants = completion_query(before, (row, column) == self.document.end)
        if wants != self._wants:
            self._wants = wants
            self.post_message(self.Wants(wants))

    def complete(self, kind: str, text: str) -> None:
        """Put a completion in the place of what was typed of it."""
        if kind == "slash":
            self._set(text)
            return
        row, column = self.cursor_location
        start = self.document.get_line(row).rfind("@", 0, column)
        if start >= 0:
            self.replace(text, (row, start), (row, column), maintain_selection_offset=False)

    # Keys

    def action_complete(self) -> None:
        """Take what is offered; else the focus goes on."""
        if self.completing:
            self.post_message(self.Take())
        else:
            self.post_message(self.Leave())

    def action_take_back(self) -> None:
        """The last waiting message comes back here."""
        self.post_message(self.Back())

    def action_page(self, step: int) -> None:
        """Read above while typing."""
        self.post_message(self.ScrollPage(step))

    def action_cursor_up(self, select: bool = False) -> None:
        """A line up; from the first line: the user's message before."""
        if self.completing and not select:
            self.post_message(self.Choose(-1))
        elif select or self._row() > 0 or not self._go_back():
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """A line down; from the last line: the next message, and at last the draft."""
        if self.completing and not select:
            self.post_message(self.Choose(1))
        elif not self.text and not select and self._past is None:
            self.post_message(self.Down())
        elif select or self._row() < self.wrapped_document.height - 1 or not self._go_on():
            super().action_cursor_down(select)

    def _row(self) -> int:
        """The line of the cursor as it is seen."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    # The past

    def _go_back(self) -> bool:
        if self.transcript is None or self.editing is not None:
            return False
        self._keep_draft()
        start = len(self.transcript) if self._past is None else min(self._past, len(self.transcript))
        return self._show_past(range(start - 1, max(start - 1 - MOST_LOOKED_AT, -1), -1))

    def _go_on(self) -> bool:
        if self.transcript is None or self._past is None:
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
        assert self.transcript is not None, "asked for by the keys alone"
        for place in places:
            entry = self.transcript[place]
            if entry.kind == "you":
                self._past = place
                self._set(entry.text)
                self._shown = self.text
                return True
        return False

    # Editing

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


def cost_line(cost: DraftCost) -> Content:
    """`212 tokens, leaves 43,578`, or that it does not fit."""
    tokens = f"{'' if cost.exact else 'about '}{counted(cost.tokens, 'token')}"
    if cost.room >= 0:
        return Content(f"{tokens}, leaves {cost.room:,}")
    return Content.assemble((f"does not fit: {-cost.room:,} too many", "bold $error"), f" · {tokens}")
