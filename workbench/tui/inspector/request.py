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
from textual.getters import query_one
from textual.reactive import reactive, var
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.context.plan import ContextPlan
from workbench.context.render import render_request
from workbench.session.observable import ObservableSession
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import join_cells
from workbench.tui.widgets.reader import TextReader, TextScreen
from workbench.tui.widgets.text_dialog import TextDialog
from workbench.tui.widgets.text_view import TextLine, TextPage, text_page
from workbench.views.context_view import ContextView

CHARS_PER_TOKEN = 5
"""To estimate the length of the text; JSON has a bit more than plain text."""


def request_json(plan: ContextPlan) -> str:
    """The request's body as indented JSON."""
    return json.dumps(render_request(plan), ensure_ascii=False, indent=2)


def as_curl(plan: ContextPlan) -> str:
    """The request as a command. The API key is read from the environment of the shell.

    The body is a here-document, because a command line is limited to some hundred thousand characters. No line of
    JSON can equal the closing word.
    """
    lines = [
        'curl "${OPENAI_BASE_URL:?set it to the address of the API, with its /v1}/chat/completions" \\',
        '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
        "  -H 'Content-Type: application/json' \\",
        "  --data-binary @- <<'END_OF_REQUEST'",
        request_json(plan),
        "END_OF_REQUEST",
    ]
    return "\n".join(lines) + "\n"


def _page(plan: ContextPlan, form: str, most: int) -> TextPage:
    """The text. Making only its beginning would not be faster."""
    if most:
        return TextPage([TextLine("writing it…", "quiet")])
    return text_page(as_curl(plan) if form == "curl" else request_json(plan))


class RequestHead(Widget):
    """The title, and whether the request can be sent."""

    form: reactive[str] = reactive("JSON")

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self._shown = shown

    def show_request(self, shown: ContextView) -> None:
        """Show another request."""
        self._shown = shown
        self.refresh()

    def render(self) -> Content:
        """Two lines: the form with its key, and the verdict."""
        shown, width = self._shown, self.size.width
        other = "curl" if self.form == "JSON" else "JSON"
        first = join_cells(
            [
                Content.styled(_what(shown), "bold $primary"),
                Content.styled(f"[{self.form}]", "bold $accent"),
                Content(f"f shows it as {other}"),
                Content("s writes it to a file"),
                Content.styled("Esc closes", "$quiet"),
                Content.styled("the key is not in it", "$quiet"),
            ],
            width,
        )
        status, why = shown.plan.verdict.status, shown.plan.verdict.why
        colour = "$success" if status == "fits" else "$error"
        words = {"fits": "● fits", "waiting": "● waiting: it is not sent"}.get(status, "● does not fit: it is not sent")
        second = Content.assemble((words, f"bold {colour}"), f"  {printable(why)}{_missing(shown)}")
        return Content("\n").join([first, second.truncate(max(1, width), ellipsis=True)])


def _what(shown: ContextView) -> str:
    """Which request it is, and whether it is exactly what was sent."""
    if shown.at is None:
        return "the next request, if it went on" if shown.view else "the request as it will be sent"
    number = f"request {shown.at + 1:,}"
    if shown.view == "what-if":
        return f"{number}, as {printable(shown.policy)} would have sent it"
    is_part = shown.exactness is not None and not shown.exactness.exact
    return f"{number}, as far as it is in the file" if is_part else f"{number}, as it was sent"


def _missing(shown: ContextView) -> str:
    """The part of the sent request that the text lacks."""
    found = shown.exactness if shown.view == "recorded" else None
    return f"; not here: about {found.missing:,}" if found is not None and found.missing else ""


class RequestScreen(Observing, TextScreen):
    """The request, to search and copy.

    If a step through time is still being planned when the screen opens, it shows that request once it is known.
    """

    BINDING_GROUP_TITLE = "The request"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close", id="request.close"),
        Binding("f", "form", "as JSON or as a curl command", id="request.form"),
        Binding("s", "save", "write it to a new file", id="request.save"),
    ]

    form: var[str] = var("JSON")
    shown = observed(lambda session: session.shown, repaint=False)
    head = query_one(RequestHead)

    def __init__(self, session: ObservableSession, request: ContextView) -> None:
        super().__init__(session)
        self._request = request

    def compose(self) -> ComposeResult:
        yield RequestHead(self._request).data_bind(RequestScreen.form)
        yield TextReader()

    def watch_shown(self, _: ContextView | None, shown: ContextView | None) -> None:
        """Show the request of a step that was on its way when the screen opened."""
        if shown is not None and shown.at != self._request.at:
            self._request = shown
            self.head.show_request(shown)
            self._fill()

    def action_form(self) -> None:
        self.form = "curl" if self.form == "JSON" else "JSON"
        self._fill()

    def action_save(self) -> None:
        self._save(self.form)

    @work(exclusive=True, group="save", description="save")
    async def _save(self, form: str) -> None:
        from workbench.session.reports import write_new  # late: it imports what a turn needs

        shown = self._request
        number = "next" if shown.at is None else str(shown.at + 1)
        name = f"request-{number}.{'sh' if form == 'curl' else 'json'}"
        about = f"A new file for the request as {form}. The key is not in it."
        asked = await self.app.push_screen_wait(TextDialog("write the request", name, about))
        if asked is not None and asked.strip():
            path, plan = Path(os.path.expanduser(asked.strip())), shown.plan
            text = await in_background(as_curl if form == "curl" else request_json, plan)
            try:
                written = await in_background(write_new, path, text)
            except WorkbenchError as error:
                self.notify(str(error), severity="error", markup=False)
            else:
                self.notify(f"{written:,} bytes written to {path}", markup=False)

    def _fill(self) -> None:
        plan = self._request.plan
        self.reader.show(partial(_page, plan, self.form), plan.totals.tokens * CHARS_PER_TOKEN)
