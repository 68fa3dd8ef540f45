"""A request item by item, to change it before it is sent: a held one, or a recorded one that is sent again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable
from workbench.config.values import replace
from workbench.proxy.editing import (
    UNCHANGED,
    ChangedRequest,
    RequestEdit,
    with_excluded,
    with_masked,
    with_restored,
    with_reworded,
)
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, per_cent, text_lines
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.text_dialog import EditDialog, TextDialog
from workbench.wire.dialects import DIALECTS
from workbench.wire.rewriting import BodyItem, Rewrite

T = TypeVar("T")
LINE_CHARS = 400
"""The most characters of an item in its line."""


class RequestItemsScreen(Finder[T]):
    """Shows the items as in the inspector. A subclass decides what Enter does."""

    NAME = "request"
    COLUMNS = (Column("", 9), Column("kind", 10), Column("tokens", 7, right=True), Column("text"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "exclude", "exclude", id="held.exclude"),
        Binding("m", "mask", "mask", id="held.mask"),
        Binding("e", "edit", "edit", id="held.edit"),
        Binding("r", "restore", "restore", id="held.restore"),
        Binding("f7", "model", "model", id="held.model", priority=True),
        Binding("equals_sign", "parameters", "parameters", id="held.parameters"),
        Binding("escape,q", "leave", "close", id="held.leave"),
        Binding("j", "move(1)", "the next", id="held.down", show=False),
        Binding("k", "move(-1)", "the one before", id="held.up", show=False),
        Binding("g,home", "end(False)", "the first", id="held.first", show=False),
        Binding("G,end", "end(True)", "the last", id="held.last", show=False),
    ]

    def __init__(self, host: MainScreenApi, make: Callable[[], RequestEdit], body: dict[str, Any], window: int) -> None:
        """`make` counts the request; called in a thread."""
        super().__init__(host)
        self._make = make
        self._window = window
        self._edit: RequestEdit | None = None
        self._changed = ChangedRequest(UNCHANGED, body, 0, 0, frozenset())

    def on_mount(self) -> None:
        self.call_after_refresh(self.only_keys)

    # For subclasses

    def mark_of(self, path: str) -> str:
        """One more word about an item."""
        return ""

    def facts_before(self) -> list[str]:
        """Facts to show before the size."""
        return []

    def facts_behind(self) -> list[str]:
        """Facts to show after the changes."""
        return []

    def newness(self) -> str:
        """What new means."""
        return "since the last request"

    # Drawing

    async def search_rows(self, text: str) -> FinderResult:
        """All items, in the order of the request; the cursor starts at the last one."""
        begin = None
        if self._edit is None:
            self._edit = await self.host.in_background(self._make)
            self._changed = self._edit.changed_request(UNCHANGED)
            begin = next(
                (item.path for item in reversed(self._edit.items) if item.kind not in ("system", "tool")), None
            )
        return FinderResult([Row(item.path, self._cells(item)) for item in self._edit.items], " ", begin)

    def _cells(self, item: BodyItem) -> tuple[str | Content, ...]:
        assert self._edit is not None
        text_line = " ".join(f"{item.tool} {self._now(item)}"[:LINE_CHARS].split())
        state = self._state(item.path)
        sign = Content.styled(state, "bold $warning") if state else Content.styled("", "")
        if not state and item.path in self._edit.new:
            sign = Content.styled("● new", "$success")
        kind = Content.styled("failed", "$error") if item.is_error else item.kind
        tokens = self._edit.count(self._now(item)) if state in ("masked", "edited") else self._edit.sizes[item.path]
        text: str | Content = (
            Content.styled(printable(text_line), "strike $quiet") if state == "excluded" else text_line
        )
        return sign, kind, f"{tokens:,}", text

    def _state(self, path: str) -> str:
        if path in self._changed.gone:
            return "excluded"
        rewrite = self._changed.rewrite
        if path in rewrite.mask or path in rewrite.texts:
            return "masked" if path in rewrite.mask else "edited"
        return self.mark_of(path)

    def _now(self, item: BodyItem) -> str:
        rewrite = self._changed.rewrite
        return rewrite.mask.get(item.path) or rewrite.texts.get(item.path, item.text)

    async def row_details(self, value: str) -> Content:
        """The marked item in full, as it would be sent."""
        item = self._item(value)
        assert self._edit is not None
        facts = [
            ("path", item.path),
            ("tool", item.tool),
            ("new", self.newness() if item.path in self._edit.new else ""),
            ("then", self._state(value)),
        ]
        return join_blocks(
            Content.styled(item.kind, "bold"), name_value_rows(facts, self.wide), text_lines(self._now(item))
        )

    def _item(self, path: str) -> BodyItem:
        assert self._edit is not None
        return next(item for item in self._edit.items if item.path == path)

    def _show_note(self) -> None:
        """Show the problem, or the figures, under the list."""
        if self._edit is not None and not self.warning:
            self._note = self._figures()
        super()._show_note()

    def _figures(self) -> str:
        changed = self._changed
        size = f"{changed.after:,} tokens, {per_cent(changed.after, self._window)} of {self._window:,}"
        parts = [*self.facts_before(), size]
        if changed.after != changed.before:
            freed = changed.before - changed.after
            parts.append(f"frees {freed:,}" if freed > 0 else f"adds {-freed:,}")
        if changed.rewrite.model:
            parts.append(f"model {changed.rewrite.model}")
        if changed.rewrite.parameters:
            given = changed.rewrite.parameters.items()
            parts.append(
                ", ".join(f"{key}={json.dumps(value)}" if value is not None else f"no {key}" for key, value in given)
            )
        return " · ".join([*parts, *self.facts_behind()])

    # Changing

    def _change(self, rewrite: Rewrite) -> None:
        assert self._edit is not None
        try:
            self._changed = self._edit.changed_request(rewrite)
        except WorkbenchError as error:
            self.warning = str(error)
            return
        self.warning = ""
        for item in self._edit.items:
            self.redraw(item.path, self._cells(item))
        self._show_note()
        self.reload_details()

    def _may_change(self) -> bool:
        self.warning = self._edit.fixed if self._edit is not None else ""
        return self._edit is not None and not self.warning

    def _on_marked(self, change: Callable[[str], Rewrite]) -> None:
        if self.marked is not None and self._edit is not None:
            self._change(change(self.marked))

    def action_exclude(self) -> None:
        """Exclude the item; a call and its result are excluded together."""
        self._on_marked(lambda path: with_excluded(self._changed.rewrite, path))

    def action_mask(self) -> None:
        edit = self._edit
        if edit is not None:
            self._on_marked(lambda path: with_masked(self._changed.rewrite, path, edit.marker(path)))

    def action_restore(self) -> None:
        self._on_marked(lambda path: with_restored(self._changed.rewrite, path))

    @work(group="ask", exclusive=True)
    async def action_edit(self) -> None:
        path = self.marked
        if path is None or self._edit is None:
            return
        item = self._item(path)
        try:
            self._edit.changed_request(with_reworded(self._changed.rewrite, path, self._now(item) or "-"))
        except WorkbenchError as error:
            self.warning = str(error)
            return
        text = await self.app.push_screen_wait(EditDialog(f"edit {path}", self._now(item)))
        if text is not None and text != self._now(item):
            self._change(with_reworded(self._changed.rewrite, path, text))

    @work(group="ask", exclusive=True)
    async def action_model(self) -> None:
        """Choose another model of the same provider: the dialect stays the same."""
        if not self._may_change() or self._edit is None:
            return
        own = self._edit.model
        about = "A model of the same provider, by the name that it has there."
        name = await self.app.push_screen_wait(TextDialog("model", self._changed.rewrite.model or own, about))
        if name is not None:
            wanted = "" if name.strip() == own else name.strip()
            self._change(replace(self._changed.rewrite, model=wanted))

    @work(group="ask", exclusive=True)
    async def action_parameters(self) -> None:
        """Edit the parameters: everything except prompt, tools and messages."""
        if not self._may_change() or self._edit is None:
            return
        aside = {*DIALECTS[self._edit.dialect].places, "tools", "model"}
        before = {key: value for key, value in self._edit.body.items() if key not in aside}
        now = {key: value for key, value in self._changed.body.items() if key not in aside}
        text = json.dumps(now, indent=2, ensure_ascii=False)
        written = await self.app.push_screen_wait(EditDialog("parameters", text, check=_object))
        if written is not None:
            after = _object(written)
            changes = {key: value for key, value in after.items() if before.get(key) != value}
            changes |= dict.fromkeys(before.keys() - after.keys())
            self._change(replace(self._changed.rewrite, parameters=changes))

    def action_end(self, is_last: bool) -> None:
        self.found.action_last() if is_last else self.found.action_first()


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WrongCall(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise WrongCall('expected a JSON object, as in {"max_tokens": 1000}')
    return found
