"""The request as it will be sent: as JSON, or as a command for a shell."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive, var
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.context.plan import ContextPlan
from workbench.context.render import render_request
from workbench.tui.widgets.cells import joined
from workbench.tui.widgets.reader import TextReader, TextScreen
from workbench.tui.widgets.text_dialog import TextDialog
from workbench.tui.widgets.text_view import TextLine, TextPage, text_page
from workbench.views.context_view import ContextView

CHARS_PER_TOKEN = 5
"""To guess how long the text will be; JSON adds a little to the four of plain text."""


def as_json(plan: ContextPlan) -> str:
    """The request's body, readable."""
    return json.dumps(render_request(plan), ensure_ascii=False, indent=2)


def as_curl(plan: ContextPlan) -> str:
    """The request as a command. The key stays where it is: in the environment of whoever runs it.

    The body goes in as a here-document, because a command line holds no more than some hundred thousand characters.
    No line of it can be the closing word: all of JSON's own lines begin otherwise.
    """
    lines = [
        'curl "${OPENAI_BASE_URL:?set it to the address of the API, with its /v1}/chat/completions" \\',
        '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
        "  -H 'Content-Type: application/json' \\",
        "  --data-binary @- <<'END_OF_REQUEST'",
        as_json(plan),
        "END_OF_REQUEST",
    ]
    return "\n".join(lines) + "\n"


def _page(plan: ContextPlan, form: str, most: int) -> TextPage:
    """The text; there is no beginning of it that could be had sooner than the whole."""
    if most:
        return TextPage([TextLine("writing it…", "quiet")])
    return text_page(as_curl(plan) if form == "curl" else as_json(plan))


class RequestHead(Widget):
    """What it is, and whether it can be sent."""

    form: reactive[str] = reactive("JSON")

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self._shown = shown

    def render(self) -> Content:
        """Two lines: the form with its key, and the verdict."""
        plan, width = self._shown.plan, self.size.width
        what = _what(self._shown)
        other = "curl" if self.form == "JSON" else "JSON"
        first = joined(
            [
                Content.styled(what, "bold $primary"),
                Content.styled(f"[{self.form}]", "bold $accent"),
                Content(f"f shows it as {other}"),
                Content("s writes it to a file"),
                Content.styled("Esc closes", "$quiet"),
                Content.styled("the key is not in it", "$quiet"),
            ],
            width,
        )
        status, why = plan.verdict
        colour = "$success" if status == "fits" else "$error"
        words = {"fits": "● fits", "waiting": "● waiting: it is not sent"}.get(status, "● does not fit: it is not sent")
        second = Content.assemble((words, f"bold {colour}"), f"  {printable(why)}{_missing(self._shown)}")
        return Content("\n").join([first, second.truncate(max(1, width), ellipsis=True)])


def _what(shown: ContextView) -> str:
    """Which request it is, and how far it is the one that went over the wire."""
    if shown.at is None:
        return "the next request, if it went on" if shown.view else "the request as it will be sent"
    number = f"request {shown.at + 1:,}"
    if shown.view == "what-if":
        return f"{number}, as {printable(shown.policy)} would have sent it"
    is_part = shown.exactness is not None and not shown.exactness.exact
    return f"{number}, as far as it is in the file" if is_part else f"{number}, as it was sent"


def _missing(shown: ContextView) -> str:
    """What the text does not show of what was sent."""
    found = shown.exactness if shown.view == "recorded" else None
    return f"; not here: about {found.missing:,}" if found is not None and found.missing else ""


class RequestScreen(TextScreen):
    """The request, searchable and to be copied."""

    BINDING_GROUP_TITLE = "The request"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close", id="request.close"),
        Binding("f", "form", "as JSON or as a curl command", id="request.form"),
        Binding("s", "save", "write it to a new file", id="request.save"),
    ]

    form: var[str] = var("JSON")

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self._shown = shown

    def compose(self) -> ComposeResult:
        """What it is, then the text."""
        yield RequestHead(self._shown).data_bind(RequestScreen.form)
        yield TextReader()

    def action_form(self) -> None:
        """Show it in the other form."""
        self.form = "curl" if self.form == "JSON" else "JSON"
        self._fill()

    def action_save(self) -> None:
        """For somebody else to look at."""
        self._save(self.form)

    @work(exclusive=True, group="save")
    async def _save(self, form: str) -> None:
        from workbench.session.reports import write_new  # late: it brings along what a turn needs

        number = "next" if self._shown.at is None else str(self._shown.at + 1)
        name = f"request-{number}.{'sh' if form == 'curl' else 'json'}"
        about = f"A new file for the request as {form}. The key is not in it."
        asked = await self.app.push_screen_wait(TextDialog("write the request", name, about))
        if asked is not None and asked.strip():
            path, plan = Path(os.path.expanduser(asked.strip())), self._shown.plan
            text = await in_background(as_curl if form == "curl" else as_json, plan)
            try:
                written = await in_background(write_new, path, text)
            except WorkbenchError as error:
                self.notify(str(error), severity="error", markup=False)
            else:
                self.notify(f"{written:,} bytes written to {path}", markup=False)

    def _fill(self) -> None:
        plan = self._shown.plan
        self.reader.show(partial(_page, plan, self.form), plan.totals.tokens * CHARS_PER_TOKEN)
