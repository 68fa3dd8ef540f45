"""What commands, dialogs and screens may use of the main screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from textual.screen import Screen

from workbench.session.model import SessionModel
from workbench.sources.options import Detour, Options
from workbench.sources.services import Services
from workbench.views.alerts import AlertFigures

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

T = TypeVar("T")

PaneName = Literal["chat", "context", "compaction"]
PANES: tuple[PaneName, ...] = ("chat", "context", "compaction")


class MainScreenApi(Protocol):
    """The session, and a few things that the screen can do."""

    services: Services
    options: Options
    model: SessionModel
    """The session; `model.state` is its current state."""
    own_keys: Mapping[str, str]
    """The user's own keys, by binding id."""
    theme: str
    demo: str | None
    """A note about the demo; None: this is not the demo."""

    @property
    def active_pane(self) -> PaneName:
        """The pane that has or last had the focus."""

    def push(self, screen: Screen[Any]) -> None:
        """Show a screen over the panes."""

    async def show_and_wait(self, screen: Screen[T]) -> T | None:
        """Show a screen and wait for its result; None if the user left it."""

    def show_notice(self, text: str, severity: str = "information", title: str = "") -> None:
        """Show a notice in the corner, as one line: line breaks become blanks."""

    def check_alerts(self, figures: Iterable[AlertFigures]) -> None:
        """Ring or notify, as the user wants, if something happened in these sessions since the last call."""

    async def make_writable(self) -> bool:
        """If a file is open, ask whether to make a session from it; returns whether there is a session."""

    def run_by_name(self, name: str, argument: str = "") -> None:
        """Run a command by its name."""

    async def from_session(self, question: Callable[[OpenSession], T]) -> T:
        """Call a function with the open session, in the session's thread."""

    async def in_background(self, work: Callable[[], T]) -> T:
        """Run a function in a thread, so that it does not block the screen."""

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""

    def show_event(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        """Show an event in a pane."""

    def show_request(self) -> None:
        """Show the request as it will be sent."""

    def show_effects(self) -> None:
        """Show in the context what `explain` found since."""

    @property
    def request_shown(self) -> int | None:
        """The index of the selected request; None: the next one."""

    def go_to_request(self, number: str) -> None:
        """Show the context of the N-th request."""

    def show_ledger(self) -> None:
        """Show the account of all requests."""

    def show_help(self) -> None:
        """Show all commands and keys."""

    def show_palette(self) -> None:
        """Open the command palette."""

    def focus_pane(self, name: PaneName) -> None:
        """Show and focus a pane."""

    def back_to_input(self) -> bool:
        """Focus the composer; False if it has the focus, or if something runs that Escape should stop first."""

    def walk(self, by: int) -> None:
        """Step a number of requests back or forward; after the last one is the next."""

    def toggle_side_requests(self) -> None:
        """Skip side requests, or stop at them again."""

    def focus_timeline(self) -> None:
        """Focus the timeline."""

    def toggle_split(self) -> bool:
        """Show all panes, or only the active one; returns whether all are shown."""

    def hide(self, name: PaneName | None) -> None:
        """Hide or show a pane; None: all panes next to the chat."""

    def resize(self, columns: int, lines: int) -> None:
        """Move the borders by a number of steps to the right and down."""

    async def leave(self, detour: Detour | None = None) -> None:
        """End the program, or take a detour and come back. A streaming answer is kept so far."""
