"""A question in the chat that only the user can decide.

While the composer is empty, the question has the keys: the keys of its answers answer it, and other text goes into the
composer. If there is a draft, the user has to press Tab first. No message is mistaken for an answer: a key counts if
no other letter follows at once, and an answer that is kept beyond the session needs Enter, too. A key that was pressed
before the question was visible, or that answered the previous question, is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.getters import query_one
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Button, Static

from workbench.config.text import printable, printable_lines
from workbench.session.observable import ObservableSession
from workbench.session.questions import typed_answer
from workbench.tui.messages import Answered
from workbench.tui.observing import Observing, observed
from workbench.views.values import AnswerChoice, UserQuestion

PAUSE = 0.3
"""Seconds after which a letter is an answer, and not the first letter of a word."""
HELD = 0.5
"""Seconds in which the key that answered one question does not answer the next: it is held down or hit twice."""
MOST_DETAIL = 400
"""The most lines of detail."""
PADDING = 2
"""Columns at the sides of an answer."""
Part = str | tuple[str, str]
_CHANGES = {"+": "$success", "-": "$error"}


class _Title(Static):
    """The first line of the box. It remembers when it was first visible."""

    painted_at = inf

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint it, and remember when."""
        self.painted_at = min(self.painted_at, monotonic())
        return super().render_lines(crop)


class QuestionBox(Observing, Vertical, can_focus=True):
    """The question, its detail, and its answers as buttons with a key each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "choose(-1)", "the previous answer", id="question.before", show=False),
        Binding("down,right", "choose(1)", "the next answer", id="question.next", show=False),
        Binding("enter", "press", "choose the selected answer", id="question.press"),
        Binding("escape", "default", "cancel", id="question.default"),
        Binding("pageup", "scroll_detail(-1)", "scroll the details up", id="question.page-up", show=False),
        Binding("pagedown", "scroll_detail(1)", "scroll the details down", id="question.page-down", show=False),
    ]

    @dataclass(eq=False)
    class StrayTyping(Message):
        """Typed text that was not meant for the question."""

        text: str

    @dataclass(eq=False)
    class Done(Message):
        """The question is answered, or gone."""

        had_focus: bool

    question = observed(lambda session: session.question, repaint=False)
    draft: var[bool] = var(False)
    """Whether the composer has a draft, so that keys go there."""
    chosen: var[int] = var(0)
    always: var[bool] = var(False)
    """Whether to keep the chosen answer beyond the session (its key in upper case)."""
    room: var[int] = var(20)
    """The most lines of the box."""

    title = query_one("#question-title", _Title)
    detail = query_one("#question-detail", Static)
    around = query_one("#question-around", VerticalScroll)
    hint = query_one("#question-hint", Static)
    buttons = query_one("#question-answers", Vertical)

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self._answered = -1
        self._astray = False
        """Whether typing goes to the composer, which is about to get the focus."""
        self._typed = ""
        """A letter that chose an answer, but may still be the first letter of a word."""
        self._waiting: Timer | None = None
        self._last_key = ""
        self._last_time = 0.0

    def compose(self) -> ComposeResult:
        yield _Title(id="question-title", markup=False)
        with VerticalScroll(id="question-around", can_focus=False):
            yield Static(id="question-detail", markup=False)
        yield Vertical(id="question-answers")
        yield Static(id="question-hint", markup=False)

    async def watch_question(self, before: UserQuestion | None, question: UserQuestion | None) -> None:
        self.title.painted_at = inf
        self._wait_no_more()
        had_focus = self.has_focus
        self.set_class(question is not None, "-asked")
        if question is None:
            if before is not None:
                self.post_message(self.Done(had_focus))
            return
        self.title.update(Content.styled(f"? {printable(question.title)}", "bold"))
        self.detail.update(_detail(question.detail))
        self.around.scroll_home(animate=False)
        self._fit()
        answers = [choice.answer for choice in question.choices]
        self.set_reactive(QuestionBox.chosen, answers.index(question.default) if question.default in answers else 0)
        self.set_reactive(QuestionBox.always, False)
        async with self.batch():
            await self.buttons.remove_children()
            await self.buttons.mount_all(_Answer(choice, number) for number, choice in enumerate(question.choices))
        self._draw()

    def watch_room(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Keep the answers in view; the detail gets the rest of the lines and scrolls."""
        if self.question is not None:
            lines = sum(len(_answer_lines(choice, self.size.width)) for choice in self.question.choices)
            self.around.styles.max_height = max(self.room - lines - 5, 3)

    def on_resize(self) -> None:
        """Wrap the answers again."""
        self._fit()
        self._draw()

    def watch_chosen(self) -> None:
        self._draw()

    def watch_always(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self.question is None:
            return
        for button in self.buttons.query(_Answer):
            button.choose(button.number == self.chosen, self.always, self.size.width)
        default = next((each.label for each in self.question.choices if each.answer == self.question.default), "")
        escape = f"Esc: {printable(default)}"
        # `has_focus` is set only after the handlers of focus and blur, which draw.
        focused = self.screen.focused
        if focused is self and self._lasts:
            text = f"Enter saves this answer · {escape}"
        elif focused is self:
            text = f"a key answers · ↑ ↓ and Enter choose · {escape}"
        elif focused is None or self.parent not in focused.ancestors:
            text = "F2 and Tab, then a key answers" if self.draft else "F2, then a key answers"
        else:
            text = f"Tab, then a key answers · {escape}"
        self.hint.update(Content.styled(text, "$quiet"))

    def on_focus(self) -> None:
        self._astray = False
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    def watch_draft(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Choose the answer of a key; other text goes to the composer."""
        if self.question is None or not event.is_printable or not event.character:
            return
        event.stop()
        event.prevent_default()
        if event.character == self._typed or self._is_held(event):
            return
        is_early = self._astray or self._typed or event.time < self.title.painted_at
        answer = None if is_early else typed_answer(self.question, event.character)
        typed = self._typed + event.character
        self._wait_no_more()
        if answer is None:
            self._astray = True
            self.post_message(self.StrayTyping(typed))
            return
        self._choose(answer)
        self._typed = event.character
        if not self._lasts:
            self._waiting = self.set_timer(PAUSE, self.action_press)

    def _is_held(self, event: events.Key) -> bool:
        """Whether the key answered the previous question and is still held down."""
        held = event.character == self._last_key and event.time - self._last_time <= HELD
        if held:
            self._last_time = event.time
        return held

    def _choose(self, answer: str) -> None:
        assert self.question is not None
        for number, choice in enumerate(self.question.choices):
            if answer in (choice.answer, choice.saved):
                self.chosen, self.always = number, answer == choice.saved

    @property
    def _lasts(self) -> bool:
        """Whether the chosen answer is kept beyond the session."""
        return self.question is not None and (self.always or self.question.choices[self.chosen].lasts)

    def _wait_no_more(self) -> None:
        self._typed = ""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def on_paste(self, event: events.Paste) -> None:
        """A paste is never an answer; it goes to the composer."""
        event.stop()
        self.post_message(self.StrayTyping(event.text))

    def action_choose(self, step: int) -> None:
        self._wait_no_more()
        if self.question is not None:
            self.chosen, self.always = (self.chosen + step) % len(self.question.choices), False

    def action_press(self) -> None:
        """Give the chosen answer."""
        if self.question is not None:
            self._last_key, self._last_time = self._typed, monotonic()
            self._wait_no_more()
            chosen = self.question.choices[self.chosen]
            self._answer(chosen.saved if self.always else chosen.answer)

    def action_default(self) -> None:
        """Give the answer that changes nothing."""
        if self.question is not None:
            self._answer(self.question.default)

    def action_scroll_detail(self, step: int) -> None:
        """Scroll the detail by half a page."""
        self.around.scroll_relative(y=step * max(self.around.size.height // 2, 1), animate=False)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if self.question is not None and isinstance(event.button, _Answer):
            self._answer(self.question.choices[event.button.number].answer)

    def _answer(self, answer: str) -> None:
        if self.question is not None and self._answered != self.question.number:
            self._answered = self.question.number  # one question, one answer
            self.post_message(Answered(self.question.number, answer))


class _Answer(Button, can_focus=False):
    """One answer. The box has the focus, not the answers."""

    def __init__(self, choice: AnswerChoice, number: int) -> None:
        super().__init__(compact=True)
        self.number = number
        self._choice = choice

    def choose(self, is_chosen: bool, always: bool, width: int) -> None:
        """Mark the answer that Enter gives, and whether it is kept."""
        self.set_class(is_chosen, "-chosen")
        self.label = Content("\n").join(_answer_lines(self._choice, width, is_chosen, always))
        self.refresh(layout=True)


def _answer_lines(choice: AnswerChoice, width: int, is_chosen: bool = False, always: bool = False) -> list[Content]:
    """An answer in a box of `width` columns, wrapped below the label."""
    key, label = printable(choice.key), printable(choice.label)
    head = Content.assemble("▸ " if is_chosen and not always else "  ", (key, "bold underline"), " ")
    between = " ▸" if is_chosen and always else ", "
    saved: list[Part] = [between, (key.upper(), "bold underline"), " always"] if choice.saved else []
    room = max(width - PADDING - head.cell_length, 1)
    lines = Content.assemble(label, *saved).wrap(room)
    return [Content.assemble(" " * head.cell_length if at else head, line) for at, line in enumerate(lines)]


def _detail(text: str) -> Content:
    """The command, or the file with its changes: a sign and a colour for each line of a diff."""
    lines = printable_lines(text)
    shown = [Content.styled(line, _CHANGES.get(line[:1], "")) for line in lines[:MOST_DETAIL]]
    if len(lines) > MOST_DETAIL:
        shown.append(Content.styled(f"… {len(lines) - MOST_DETAIL:,} more lines", "$quiet italic"))
    return Content("\n").join(shown)
