"""The chat pane: transcript, streaming answer, question and composer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.getters import query_one
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.session.observable import ObservableSession
from workbench.tui.chat.activity_lines import ActivityLine, QueuedMessages, is_working
from workbench.tui.chat.completion import CompletionList, CompletionQuery, Count, ProjectFiles
from workbench.tui.chat.composer import Composer
from workbench.tui.chat.question import QuestionBox
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.chat.welcome import WelcomeView
from workbench.tui.messages import DraftChanged, HintsChanged, Interrupt, Withdraw
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.command import Completion
from workbench.tui.widgets.hints import Hints
from workbench.views.values import UserQuestion, Welcome

INPUT_HINTS: Hints = (
    *(("@", "file"), ("/", "command"), ("Tab", "transcript")),
    *(("F3", "context"), ("Ctrl+P", "commands"), ("F1", "help")),
)
"""Shown after the hints for sending and for a new line."""
TRANSCRIPT_HINTS: Hints = (
    *(("j k", "move"), ("Enter", "unfold"), ("o", "in the context"), ("y", "copy"), ("e", "edit and resend")),
    *(("R", "ask again"), ("[ ]", "requests"), ("Esc", "input"), ("?", "all keys")),
)
WELCOME_HINTS: Hints = (("j k", "move"), ("Enter", "open"), ("Esc", "input"))

Complete = Callable[[str], Sequence[Completion]]
"""Completes a text that starts with a slash."""


class ChatPane(Observing, Vertical):
    """The conversation. It shows the session, posts messages and keeps the draft; it does not plan or count."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "leave the transcript, a search or an edit; then stop the model", id="chat.escape")
    ]

    activity = observed(lambda session: session.activity, repaint=False)
    question = observed(lambda session: session.question, repaint=False)
    queue = observed(lambda session: session.queue, repaint=False)
    refusal = observed(lambda session: session.refusal, repaint=False)
    welcome = observed(lambda session: session.welcome, repaint=False)
    read_only = observed(lambda session: session.read_only, repaint=False)

    greeting = query_one(WelcomeView)
    view = query_one(TranscriptView)
    box = query_one(QuestionBox)
    offers = query_one(CompletionList)
    composer = query_one(Composer)
    now = query_one(ActivityLine)

    def __init__(
        self,
        session: ObservableSession,
        complete: Complete | None = None,
        root: Path | None = None,
        count: Count | None = None,
    ) -> None:
        """`complete` completes slash commands, `root` is the project, `count` counts the tokens of a text."""
        super().__init__(session)
        self._complete = complete
        self._folder = "" if root is None else str(root)
        self._files = None if root is None else ProjectFiles(root, count)
        self._wanted: CompletionQuery | None = None
        self._before: Widget | None = None
        """The widget that had the focus before the question."""

    def compose(self) -> ComposeResult:
        session = self.session
        yield WelcomeView(session)
        yield TranscriptView(session, self._folder)
        yield QuestionBox(session)
        yield ActivityLine(session)
        yield QueuedMessages(session)
        yield CompletionList()
        yield Composer(session)

    def watch_welcome(self, welcome: Welcome | None) -> None:
        """Show the welcome instead of the conversation."""
        left = self.greeting.has_focus and welcome is None
        self.greeting.display, self.view.display = welcome is not None, welcome is None
        self.post_message(HintsChanged())
        if left:
            self.composer.focus()

    @on(WelcomeView.Left)
    def _greeted(self, message: WelcomeView.Left) -> None:
        message.stop()
        self.composer.focus()

    @on(Composer.DownPressed)
    def _down(self, message: Composer.DownPressed) -> None:
        message.stop()
        if self.greeting.display:
            self.greeting.focus()

    # Called by the main screen

    def hints(self) -> Hints:
        """The keys of the focused widget."""
        if self.view.has_focus:
            return TRANSCRIPT_HINTS
        if self.greeting.has_focus:
            return WELCOME_HINTS
        if self.box.has_focus:
            return ()
        if self.read_only:  # commands can be typed all the same
            return (("/", "command"), *INPUT_HINTS[2:])
        if self.greeting.display:
            return (("Enter", "send"), ("↓", "open a session"), *(each for each in INPUT_HINTS if each[0] != "Tab"))
        return (("Enter", "send"), (self.composer.newline_key, "new line"), *INPUT_HINTS)

    def take_focus(self) -> None:
        """Focus the composer, or an open question if the draft is empty."""
        (self.box if self.question is not None and not self.composer.text else self.composer).focus()

    def show_event(self, seq: int) -> None:
        """Scroll to the entry of an event and mark it."""
        self.view.show(seq)
        self.view.focus()

    def mark_event(self, seq: int) -> None:
        """Mark the entry of an event that is selected in another pane."""
        self.view.mark(seq)

    def give_back(self, text: str) -> None:
        """Put a message that could not be sent into the composer."""
        self.composer.insert_above_draft(text)

    def watch_read_only(self) -> None:
        self.post_message(HintsChanged())

    # Questions

    def watch_question(self, question: UserQuestion | None) -> None:
        """Focus a new question, unless the user is typing."""
        focused = self.screen.focused
        if question is None or focused is None or self not in focused.ancestors or self.composer.text:
            return
        if focused is not self.box:
            self._before = focused
        self.box.focus()

    @on(DraftChanged)
    def _drafting(self, message: DraftChanged) -> None:
        self.box.draft = bool(message.text)
        if self.question is not None and not message.text and self.composer.has_focus:
            self.box.focus()

    @on(QuestionBox.Done)
    def _answered(self, message: QuestionBox.Done) -> None:
        message.stop()
        if message.had_focus:
            (self._before or self.composer).focus()
        self._before = None

    @on(QuestionBox.StrayTyping)
    def _typed(self, message: QuestionBox.StrayTyping) -> None:
        message.stop()
        self.composer.type(message.text)
        self.composer.focus()

    # The transcript

    @on(TranscriptView.NewBelow)
    def _below(self, message: TranscriptView.NewBelow) -> None:
        message.stop()
        self.now.below = (message.count, message.coming)

    @on(ActivityLine.EndWanted)
    @on(Composer.ScrollPage)
    def _scroll(self, message: ActivityLine.EndWanted | Composer.ScrollPage) -> None:
        message.stop()
        if isinstance(message, Composer.ScrollPage):
            self.view.action_page(message.step)
        elif any(self.now.below):
            self.view.action_last()

    @on(TranscriptView.EditAsked)
    def _edit(self, message: TranscriptView.EditAsked) -> None:
        message.stop()
        if self.refusal:
            self.notify(self.refusal, severity="warning", markup=False)
            return
        self.composer.edit_message(message.entry)
        self.composer.focus()

    # The queue

    @on(Composer.QueuedWanted)
    def _last_back(self, message: Composer.QueuedWanted) -> None:
        message.stop()
        self._withdraw(len(self.queue) - 1)

    @on(QueuedMessages.OneWanted)
    def _one_back(self, message: QueuedMessages.OneWanted) -> None:
        message.stop()
        self._withdraw(message.index)

    def _withdraw(self, index: int) -> None:
        if 0 <= index < len(self.queue):
            text = self.queue[index]
            self.composer.insert_above_draft(text)
            self.composer.focus()
            self.post_message(Withdraw(index, text))

    # Completions

    @on(Composer.CompletionWanted)
    def _wants(self, message: Composer.CompletionWanted) -> None:
        message.stop()
        before, self._wanted = self._wanted, message.what
        if message.what is None:
            self._offer(())
        elif message.what.kind == "slash":
            self._offer(tuple(self._complete(message.what.text)) if self._complete else ())
        elif self._files is not None:
            if before is None or before.kind != "file":
                self._files.forget()
            self.run_worker(self._find(self._files, message.what), exclusive=True, group="files")

    async def _find(self, files: ProjectFiles, what: CompletionQuery) -> None:
        found = await in_background(files.offers, what.text)
        if self._wanted == what:
            self._offer(tuple(found))

    def _offer(self, offers: tuple[Completion, ...]) -> None:
        self.offers.offers = offers
        self.composer.completing = bool(offers)
        self.composer.commands = frozenset(offer.text.rstrip() for offer in offers)

    @on(Composer.ChoiceMoved)
    def _choose(self, message: Composer.ChoiceMoved) -> None:
        message.stop()
        self.offers.move(message.step)

    @on(Composer.CompletionTaken)
    @on(CompletionList.CompletionClicked)
    def _insert_chosen(self, message: Composer.CompletionTaken | CompletionList.CompletionClicked) -> None:
        message.stop()
        chosen, what = self.offers.chosen, self._wanted
        if chosen is not None and what is not None:
            self._offer(())
            self.composer.complete(what.kind, chosen.text)
            self.composer.focus()
            if (
                isinstance(message, Composer.CompletionTaken)
                and message.runs
                and what.kind == "slash"
                and chosen.is_whole
            ):
                self.composer.call_later(self.composer.action_send)  # as if the key was pressed there

    @on(Composer.NextWanted)
    def _leave(self, message: Composer.NextWanted) -> None:
        message.stop()
        if self.question is not None:
            self._before = self.composer
            self.box.focus()
        else:
            (self.greeting if self.greeting.display else self.view).focus()

    # Escape, and who has the focus

    def action_escape(self) -> None:
        """Leave the search, edit or completion; if there is none, let Escape bubble."""
        if self.composer.is_searching:
            self.composer.end_search(keep=False)
        elif self.composer.completing:
            self._offer(())
        elif self.composer.editing is not None:
            self.composer.leave_edit()
            self.composer.focus()
        elif self.question is not None:
            self.box.action_default()
        elif self.view.has_focus or self.greeting.has_focus:
            self.composer.focus()
        elif is_working(self.activity):
            self.post_message(Interrupt())
        else:
            raise SkipAction

    def on_resize(self) -> None:
        """Limit the question's height, so that some of the conversation stays in view."""
        height = self.size.height
        self.box.room = max(height * 3 // 5, min(height - 6, 14))
