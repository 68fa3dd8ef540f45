"""The proxy's policy for the open session: set it, and undo it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.errors import Refused, WorkbenchError
from workbench.config.text import counted, printable_lines
from workbench.log.events import Event
from workbench.proxy import control
from workbench.proxy.control import PolicyOrder, ProxyPolicy, RunningProxy, SessionPolicy
from workbench.proxy.policy_notes import NO_PROXY
from workbench.sources.on_the_way import PolicyForecast, foresee_policy
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.main_screen_api import MainScreenApi

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

Answer = Literal["way", "look", "no"]


class PassingSession(NamedTuple):
    """A session whose requests pass a running proxy."""

    proxy: RunningProxy
    now: SessionPolicy
    events: Sequence[Event]

    def ahead(self, host: MainScreenApi, policy: ProxyPolicy | None) -> PolicyForecast:
        """What a policy (None: no policy) would change from the next request on. Plans, so call it in a thread."""
        return foresee_policy(host.services, self.events, policy, self.now.policy)


def _written_elsewhere(opened: OpenSession) -> tuple[str, Sequence[Event]]:
    """The open session and its events, if another process records it."""
    is_passing = opened.session is not None and opened.recorded is not None and not opened.writable
    return (opened.session.id if is_passing and opened.session is not None else ""), tuple(opened.events)


async def passing_session(host: MainScreenApi) -> PassingSession | None:
    """The open session, if a running proxy records it; None otherwise."""
    session, events = await host.from_session(_written_elsewhere)
    found = await host.in_background(lambda: control.find_session(session)) if session else None
    return None if found is None else PassingSession(*found, events)


async def set_on_the_way(host: MainScreenApi, passing: PassingSession, order: PolicyOrder) -> bool:
    """Show the effect, ask, and set the policy; returns False if the user wants it only as a what-if."""
    policy = {"set": order.policy, "default": passing.now.default}.get(order.do)
    name = "as all of this proxy" if order.do == "default" else "off" if policy is None else str(policy)
    answer = await host.show_and_wait(
        ProxyPolicyDialog(name, host, lambda: str(passing.ahead(host, policy)), order.do == "set")
    )
    if answer == "way":
        await _order(host, passing, order)
        host.show_notice(f"policy on the way: {name}, from the next request on")
    return answer != "look"


async def undo_on_the_way(host: MainScreenApi) -> None:
    """Undo the last batch, with the next one. Raises Refused."""
    passing = await passing_session(host)
    if passing is None:
        raise Refused(host.model.state.read_only or NO_PROXY)
    done = await _order(host, passing, PolicyOrder("undo"))
    results = counted(done.leaving, "result")
    host.show_notice(
        f"undone: {results} whole again from the next batch on, so that the provider's cache is lost only once"
    )


async def _order(host: MainScreenApi, passing: PassingSession, order: PolicyOrder) -> SessionPolicy:
    return await host.in_background(lambda: control.order_policy(passing.proxy, passing.now.session, order))


class ProxyPolicyDialog(ModalScreen[Answer]):
    """Shows what a policy would change, with three answers; the default changes nothing."""

    BINDING_GROUP_TITLE = "A policy on the way"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('way')", "send requests so", id="way.yes"),
        Binding("l", "answer('look')", "only look: a what-if", id="way.look"),
        Binding("n,escape,enter,q", "answer('no')", "leave it", id="way.no"),
    ]

    def __init__(self, name: str, host: MainScreenApi, effect: Callable[[], str], is_look: bool) -> None:
        """`effect` computes what it would change; `is_look`: whether a what-if is possible."""
        super().__init__()
        self._title, self._host, self._effect, self._is_look = name, host, effect, is_look

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = one_line(f"policy on the way: {self._title}")
            box.border_subtitle = "Enter and Esc: leave it"
            yield Static("working out what it would change…", classes="dialog--question", markup=False)
            yield ButtonLine()

    def on_mount(self) -> None:
        what_if = [Button("l", "answer('look')", "only look: a what-if")] if self._is_look else []
        no, yes = Button("n", "answer('no')", "leave it"), Button("y", "answer('way')", "send requests so")
        self.query_one(ButtonLine).buttons = (no, yes, *what_if)
        self._work_out()

    @work
    async def _work_out(self) -> None:
        try:
            effect = await self._host.in_background(self._effect)
        except WorkbenchError as error:
            effect = str(error)
        self.query_one(".dialog--question", Static).update("\n".join(printable_lines(effect)))

    def action_answer(self, answer: Answer) -> None:
        if answer != "look" or self._is_look:
            self.dismiss(answer)
