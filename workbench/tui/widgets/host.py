"""What commands, dialogs and screens may ask of the main screen. Its panes are not their business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from textual.screen import Screen

from workbench.session.model import SessionModel
from workbench.sources.options import Detour, Options
from workbench.sources.services import Services

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

T = TypeVar("T")

PaneName = Literal["chat", "context", "compaction"]
PANES: tuple[PaneName, ...] = ("chat", "context", "compaction")


class Host(Protocol):
    """The session, and a few things that the screen can do."""

    services: Services
    options: Options
    model: SessionModel
    """The session: `model.state` is what is shown of it now."""
    own_keys: Mapping[str, str]
    """The keys that the user chose, by the ids of their bindings."""
    theme: str
    demo: str | None
    """What to say of the demo that this is; None: it is none."""

    @property
    def active_pane(self) -> PaneName:
        """The pane that has the focus, or had it last."""

    def push(self, screen: Screen[Any]) -> None:
        """Show a screen over the panes."""

    async def ask(self, screen: Screen[T]) -> T | None:
        """Show a screen and wait for what comes of it; None where it was left."""

    def tell(self, text: str, severity: str = "information", title: str = "") -> None:
        """Something to read in the corner."""

    async def make_writable(self) -> bool:
        """Whether something can be changed: of a file a session is made first, where the user agrees."""

    def run(self, name: str, argument: str = "") -> None:
        """Run a command by its name."""

    async def from_session(self, question: Callable[[OpenSession], T]) -> T:
        """Something worked out in the session's thread, from what is open."""

    async def in_background(self, work: Callable[[], T]) -> T:
        """The result of something that must not hold up the screen."""

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""

    def show_event(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        """Go to an event in a pane."""

    def show_request(self) -> None:
        """The request as it will be sent."""

    @property
    def request_shown(self) -> int | None:
        """The request that is looked at, by its place; None: the one that comes next."""

    def go_to_request(self, number: str) -> None:
        """The context of the N-th request."""

    def show_ledger(self) -> None:
        """The account of all requests."""

    def show_help(self) -> None:
        """All commands and keys."""

    def show_palette(self) -> None:
        """All commands, to find one."""

    def focus_pane(self, name: PaneName) -> None:
        """Show a pane and go there."""

    def back_to_input(self) -> bool:
        """Out of a pane to the input; whether there was one to leave, and nothing runs that should be stopped first."""

    def walk(self, by: int) -> None:
        """So many requests back or on; behind the last one is the next."""

    def toggle_side_requests(self) -> None:
        """Pass over what the conversation itself did not ask, or stop at it again."""

    def focus_timeline(self) -> None:
        """To the line of requests."""

    def toggle_split(self) -> bool:
        """Show all panes, or the active one alone; the result is whether all are shown."""

    def hide(self, name: PaneName | None) -> None:
        """Hide a pane or bring it back; None: all beside the chat."""

    def resize(self, columns: int, lines: int) -> None:
        """Move the borders between the panes by so many steps: to the right, and down."""

    async def leave(self, detour: Detour | None = None) -> None:
        """End the program, or come back after a detour; what came is kept."""
