"""A request that waits at a breakpoint: show it, change it and release it."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from workbench.config.errors import WorkbenchError
from workbench.config.text import counted
from workbench.config.values import replace
from workbench.proxy import control
from workbench.proxy.control import HeldDetail, NotReached, ReleaseOrder, RunningProxy
from workbench.proxy.editing import RequestEdit
from workbench.tui.screens.request_items import RequestItemsScreen
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.text_dialog import EditDialog

LOOKS = 1.0


class HeldScreen(RequestItemsScreen[bool]):
    """Enter releases it with the changes."""

    NAME = "held"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "release", id="held.release", priority=True),
        Binding("o", "as_it_was", "release unchanged", id="held.as-it-was"),
        Binding("a", "answer", "answer", id="held.answer"),
        Binding("p", "pin", "pin", id="held.pin"),
        Binding("escape,q", "leave", "close; it stays held", id="held.leave"),
    ]

    def __init__(self, host: MainScreenApi, proxy: RunningProxy, detail: HeldDetail) -> None:
        held = detail.summary
        super().__init__(
            host,
            lambda: RequestEdit(held.dialect, held.model, detail.body, detail.new, held.fixed),
            detail.body,
            held.window,
        )
        self._proxy = proxy
        self._detail = detail
        self._pinned: frozenset[str] = frozenset()
        """Results to pin with the release, in addition to those that are pinned already."""
        self._is_releasing = self._is_gone = False
        self._silence = ""
        """The warning that the proxy does not answer, while it does not."""

    def on_mount(self) -> None:
        held = self._detail.summary
        self.box.border_title = one_line(" · ".join(filter(None, (f"held {held.id}", held.agent, held.model))))
        self.set_interval(LOOKS, self._check_held)

    @work(group="look", exclusive=True)
    async def _check_held(self) -> None:
        """Check whether it is still held: it may be released elsewhere, or its client or the proxy may have ended."""
        is_held, silence = await self.host.in_background(self._ask_proxy)
        if self._silence or silence:
            self.warning = self._silence = silence
        if not is_held and not self._is_releasing:
            if not self._is_gone:  # only once: a dialog above this screen may stay open for long
                self._is_gone = True
                self.host.show_notice(f"{self._detail.summary.id} is not held any more", "warning")
            self.dismiss(False)
        self._show_note()

    def _ask_proxy(self) -> tuple[bool, str]:
        """Whether it is held, and why the proxy does not answer; one that still runs but is busy may hold it."""
        try:
            held = control.proxy_state_of(self._proxy).held
        except NotReached as error:
            runs = self._proxy in control.running_proxies()
            return runs, str(error) if runs else ""
        return any(each.id == self._detail.summary.id for each in held), ""

    def mark_of(self, path: str) -> str:
        """`pinned`, for an item that is pinned now or was before."""
        return "pinned" if path in self._pinned or path in self._detail.pinned else ""

    def newness(self) -> str:
        """What new means. Without an earlier request: not answered by the model yet."""
        seen = "since the model's last answer; no earlier request of this conversation was seen"
        return seen if self._detail.summary.first else "since the last request"

    def facts_before(self) -> list[str]:
        """Why it is held."""
        return [f"{self._detail.summary.rule}: {self._detail.summary.why}"]

    def facts_behind(self) -> list[str]:
        """What happens if the user does nothing, and when."""
        left = max(0, round(self._detail.summary.until - time.time()))
        policy = [f"then under {self._detail.policy.split()[0]}"] if self._detail.policy else []
        pins = [f"pins {counted(len(self._pinned), 'result')}"] if self._pinned else []
        return [*policy, *pins, f"released unchanged in {left // 60}:{left % 60:02}"]

    def action_pin(self) -> None:
        """Pin or unpin: the proxy's policy does not mask or cut a pinned item."""
        path = self.marked
        if path is None or self._edit is None:
            return
        if self._detail.summary.fixed:
            self.warning = "policies change nothing on a websocket: there is nothing to pin against"
        elif self._item(path).kind != "result":
            self.warning = "only results of tools are masked or cut on the way: all else is sent as it is without a pin"
        elif path in self._detail.pinned:
            self.warning = "it is pinned already, for as long as this proxy runs"
        else:
            self._pinned ^= {path}
            self._change(self._changed.rewrite)
            if path in self._pinned and not self._detail.policy:
                self.warning = "pinned with the release; no policy is on the way now: it holds once /policy sets one"
            elif path in self._pinned:
                self.warning = f"pinned with the release: {self._detail.policy} leaves it whole from now on"

    # Releasing

    def choose_row(self, value: str) -> None:
        """Release it with the changes, if any."""
        self._release(self._changed.order)

    def action_as_it_was(self) -> None:
        self._release(ReleaseOrder("as_it_was"))

    @work(group="ask", exclusive=True)
    async def action_answer(self) -> None:
        """Answer it by hand; the agent treats the text as the model's answer."""
        text = await self.app.push_screen_wait(EditDialog("answer in place of the model", ""))
        if text is not None and text.strip():
            self._release(ReleaseOrder("answered", text=text))

    def _release(self, order: ReleaseOrder) -> None:
        """Release it, once; pins apply in any case."""
        if not self._is_releasing:
            self._is_releasing = True
            self._send_order(replace(order, pin=tuple(sorted(self._pinned))))

    @work(group="release", description="send order")
    async def _send_order(self, order: ReleaseOrder) -> None:
        try:
            await self.host.in_background(lambda: control.release_request(self._proxy, self._detail.summary.id, order))
        except WorkbenchError as error:
            self.warning, self._is_releasing = str(error), False
            return
        done = {"as_it_was": "released unchanged", "changed": "released changed", "answered": "answered"}[order.end]
        pinned = f", {counted(len(order.pin), 'result')} pinned" if order.pin else ""
        self.host.show_notice(f"{self._detail.summary.id}: {done}{pinned}")
        self.dismiss(True)


async def open_held(host: MainScreenApi, proxy: RunningProxy, ident: str) -> None:
    """Open a held request. Raises WorkbenchError if it is no longer held."""
    detail = await host.in_background(lambda: control.detail_of(proxy, ident))
    await host.show_and_wait(HeldScreen(host, proxy, detail))
