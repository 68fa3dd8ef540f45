"""A request that waits at a breakpoint: what the model is about to see, to change it and to let it go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from msgspec import structs
from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import counted, printable
from workbench.proxy import control
from workbench.proxy.control import HeldDetail, ReleaseOrder, RunningProxy
from workbench.proxy.editing import (
    UNCHANGED,
    ChangedRequest,
    HeldEdit,
    excluding,
    masking,
    restoring,
    rewording,
)
from workbench.tui.screens.edit_dialog import EditDialog
from workbench.tui.screens.text_blocks import blocks, lines, pairs, per_cent
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.host import Host
from workbench.tui.widgets.text_dialog import TextDialog
from workbench.wire.parts import PLACES
from workbench.wire.rewriting import BodyItem, Rewrite

SAID = 400
"""Characters of an item that its line is made of."""
LOOKS = 1.0


class HeldScreen(Finder[bool]):
    """Its items as in the inspector; Enter lets it go with the changes."""

    NAME = "held"
    COLUMNS = (Column("", 9), Column("kind", 10), Column("tokens", 7, right=True), Column("text"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "release", id="held.release", priority=True),
        Binding("o", "as_it_was", "release unchanged", id="held.as-it-was"),
        Binding("a", "answer", "answer", id="held.answer"),
        Binding("x", "exclude", "exclude", id="held.exclude"),
        Binding("m", "mask", "mask", id="held.mask"),
        Binding("e", "edit", "edit", id="held.edit"),
        Binding("p", "pin", "pin", id="held.pin"),
        Binding("r", "restore", "restore", id="held.restore"),
        Binding("f7", "model", "model", id="held.model", priority=True),
        Binding("equals_sign", "parameters", "parameters", id="held.parameters"),
        Binding("escape,q", "leave", "close; it stays held", id="held.leave"),
        Binding("j", "move(1)", "the next", id="held.down", show=False),
        Binding("k", "move(-1)", "the one before", id="held.up", show=False),
        Binding("g,home", "end(False)", "the first", id="held.first", show=False),
        Binding("G,end", "end(True)", "the last", id="held.last", show=False),
    ]

    def __init__(self, host: Host, proxy: RunningProxy, detail: HeldDetail) -> None:
        super().__init__(host)
        self._proxy = proxy
        self._detail = detail
        self._edit: HeldEdit | None = None
        self._changed = ChangedRequest(UNCHANGED, detail.body, 0, 0, frozenset())
        self._pinned: frozenset[str] = frozenset()
        """Results that are pinned with the release, beside those that were before."""
        self._is_releasing = self._is_gone = False

    def on_mount(self) -> None:
        """It says whose it is."""
        held = self._detail.summary
        self.box.border_title = one_line(" · ".join(filter(None, (f"held {held.id}", held.agent, held.model))))
        self.call_after_refresh(self.only_keys)
        self.set_interval(LOOKS, self._look)

    @work(group="look", exclusive=True)
    async def _look(self) -> None:
        """It may be let go elsewhere, or its client gives up."""
        try:
            state = await self.host.in_background(lambda: control.state_of(self._proxy))
            is_held = any(held.id == self._detail.summary.id for held in state.held)
        except WorkbenchError:
            is_held = False
        if not is_held and not self._is_releasing:
            if not self._is_gone:  # said once: a dialog above this screen may stay open for long
                self._is_gone = True
                self.host.tell(f"{self._detail.summary.id} is not held any more", "warning")
            self.dismiss(False)
        self._show_note()

    async def find(self, text: str) -> FinderResult:
        """All items, in the order of the request; the mark begins at the last, with what is new above it."""
        begin = None
        if self._edit is None:
            self._edit = await self.host.in_background(lambda: HeldEdit(self._detail))
            self._changed = self._edit.changed(UNCHANGED)
            begin = next(
                (item.path for item in reversed(self._edit.items) if item.kind not in ("system", "tool")), None
            )
        return FinderResult([Row(item.path, self._cells(item)) for item in self._edit.items], " ", begin)

    def _cells(self, item: BodyItem) -> tuple[str | Content, ...]:
        assert self._edit is not None
        said = " ".join(f"{item.tool} {self._now(item)}"[:SAID].split())
        state = self._state(item.path)
        sign = Content.styled(state, "bold $warning") if state else Content.styled("", "")
        if not state and item.path in self._edit.new:
            sign = Content.styled("● new", "$success")
        kind = Content.styled("failed", "$error") if item.is_error else item.kind
        tokens = self._edit.count(self._now(item)) if state in ("masked", "edited") else self._edit.sizes[item.path]
        text: str | Content = Content.styled(printable(said), "strike $quiet") if state == "excluded" else said
        return sign, kind, f"{tokens:,}", text

    def _state(self, path: str) -> str:
        if path in self._changed.gone:
            return "excluded"
        rewrite = self._changed.rewrite
        if path in rewrite.mask or path in rewrite.texts:
            return "masked" if path in rewrite.mask else "edited"
        return "pinned" if path in self._pinned or path in self._detail.pinned else ""

    def _now(self, item: BodyItem) -> str:
        rewrite = self._changed.rewrite
        return rewrite.mask.get(item.path) or rewrite.texts.get(item.path, item.text)

    async def tell(self, value: str) -> Content:
        """The marked item, whole, as it would be sent."""
        item = self._item(value)
        assert self._edit is not None
        facts = [
            ("path", item.path),
            ("tool", item.tool),
            ("new", self._since() if item.path in self._edit.new else ""),
            ("then", self._state(value)),
        ]
        return blocks(Content.styled(item.kind, "bold"), pairs(facts, self.wide), lines(self._now(item)))

    def _since(self) -> str:
        first = self._detail.summary.first
        return "since the model's last answer; no earlier request of this conversation was seen" if first else "since the last request"

    def _item(self, path: str) -> BodyItem:
        assert self._edit is not None
        return next(item for item in self._edit.items if item.path == path)

    def _show_note(self) -> None:
        """Under the list: what is wrong, or what it would be, and how long it waits yet."""
        if self._edit is not None and not self.said:
            self._note = self._told()
        super()._show_note()

    def _told(self) -> str:
        held, changed = self._detail.summary, self._changed
        left = max(0, round(held.until - time.time()))
        size = f"{changed.after:,} tokens, {per_cent(changed.after, held.window)} of {held.window:,}"
        parts = [f"{held.rule}: {held.why}", size]
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
        if self._detail.policy:
            parts.append(f"then under {self._detail.policy.split()[0]}")
        if self._pinned:
            parts.append(f"pins {counted(len(self._pinned), 'result')}")
        parts.append(f"released unchanged in {left // 60}:{left % 60:02}")
        return " · ".join(parts)

    # Changing

    def _change(self, rewrite: Rewrite) -> None:
        assert self._edit is not None
        try:
            self._changed = self._edit.changed(rewrite)
        except WorkbenchError as error:
            self.said = str(error)
            return
        self.said = ""
        for item in self._edit.items:
            self.redraw(item.path, self._cells(item))
        self._show_note()
        self.retell()

    def _may_change(self) -> bool:
        self.said = self._detail.summary.fixed
        return not self.said

    def _on_marked(self, change: Callable[[str], Rewrite]) -> None:
        if self.marked is not None and self._edit is not None:
            self._change(change(self.marked))

    def action_exclude(self) -> None:
        """A call and its result leave together."""
        self._on_marked(lambda path: excluding(self._changed.rewrite, path))

    def action_mask(self) -> None:
        """A few words in its place."""
        edit = self._edit
        if edit is not None:
            self._on_marked(lambda path: masking(self._changed.rewrite, path, edit.marker(path)))

    def action_pin(self) -> None:
        """No policy on the way masks or cuts it from now on; once more: it may."""
        path = self.marked
        if path is None or self._edit is None:
            return
        if self._detail.summary.fixed:
            self.said = "policies change nothing on a websocket: there is nothing to pin against"
        elif self._item(path).kind != "result":
            self.said = "only results of tools are masked or cut on the way: all else is sent as it is without a pin"
        elif path in self._detail.pinned:
            self.said = "it is pinned already, for as long as this proxy runs"
        else:
            self._pinned ^= {path}
            self._change(self._changed.rewrite)
            if path in self._pinned and not self._detail.policy:
                self.said = "pinned with the release; no policy is on the way now: it holds once /policy sets one"
            elif path in self._pinned:
                self.said = f"pinned with the release: {self._detail.policy} leaves it whole from now on"

    def action_restore(self) -> None:
        """As it was."""
        self._on_marked(lambda path: restoring(self._changed.rewrite, path))

    @work(group="ask", exclusive=True)
    async def action_edit(self) -> None:
        """Other words for it."""
        path = self.marked
        if path is None or self._edit is None:
            return
        item = self._item(path)
        try:
            self._edit.changed(rewording(self._changed.rewrite, path, self._now(item) or "-"))
        except WorkbenchError as error:
            self.said = str(error)
            return
        text = await self.app.push_screen_wait(EditDialog(f"edit {path}", self._now(item)))
        if text is not None and text != self._now(item):
            self._change(rewording(self._changed.rewrite, path, text))

    @work(group="ask", exclusive=True)
    async def action_model(self) -> None:
        """Of the same provider: the request stays in its dialect."""
        if not self._may_change():
            return
        now = self._changed.rewrite.model or self._detail.summary.model
        about = "A model of the same provider, by the name that it has there."
        name = await self.app.push_screen_wait(TextDialog("model", now, about))
        if name is not None:
            wanted = "" if name.strip() == self._detail.summary.model else name.strip()
            self._change(replace(self._changed.rewrite, model=wanted))

    @work(group="ask", exclusive=True)
    async def action_parameters(self) -> None:
        """Whatever is neither prompt, nor tools, nor messages."""
        if not self._may_change():
            return
        aside = {*PLACES[self._detail.summary.dialect], "tools", "model"}
        before = {key: value for key, value in self._detail.body.items() if key not in aside}
        now = {key: value for key, value in self._changed.body.items() if key not in aside}
        text = json.dumps(now, indent=2, ensure_ascii=False)
        written = await self.app.push_screen_wait(EditDialog("parameters", text, _object))
        if written is not None:
            after = _object(written)
            changes = {key: value for key, value in after.items() if before.get(key) != value}
            changes |= dict.fromkeys(before.keys() - after.keys())
            self._change(replace(self._changed.rewrite, parameters=changes))

    # Letting go

    def take(self, value: str) -> None:
        """With the changes, if there are any."""
        self._release(self._changed.order)

    def action_as_it_was(self) -> None:
        """Whatever was changed here."""
        self._release(ReleaseOrder("as_it_was"))

    @work(group="ask", exclusive=True)
    async def action_answer(self) -> None:
        """The agent takes it for the model's."""
        text = await self.app.push_screen_wait(EditDialog("answer in place of the model", ""))
        if text is not None and text.strip():
            self._release(ReleaseOrder("answered", text=text))

    @work(group="release", exclusive=True)
    async def _release(self, order: ReleaseOrder) -> None:
        """What was pinned is so, however it goes on."""
        order = structs.replace(order, pin=tuple(sorted(self._pinned)))
        self._is_releasing = True
        try:
            await self.host.in_background(lambda: control.release(self._proxy, self._detail.summary.id, order))
        except WorkbenchError as error:
            self.said, self._is_releasing = str(error), False
            return
        done = {"as_it_was": "released unchanged", "changed": "released changed", "answered": "answered"}[order.end]
        pinned = f", {counted(len(order.pin), 'result')} pinned" if order.pin else ""
        self.host.tell(f"{self._detail.summary.id}: {done}{pinned}")
        self.dismiss(True)

    def action_end(self, is_last: bool) -> None:
        """Of the list."""
        self.found.action_last() if is_last else self.found.action_first()


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WrongCall(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise WrongCall('expected a JSON object, as in {"max_tokens": 1000}')
    return found
