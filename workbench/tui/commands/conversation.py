"""Commands on the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.errors import Refused
from workbench.tui.widgets.command import Commands

if TYPE_CHECKING:
    from workbench.tui.main.screen import MainScreen

COMMANDS = Commands("conversation")


@COMMANDS.add(
    "interrupt",
    "interrupt",
    "stop the model; what came so far is kept and marked, and a message that waits goes next",
    keys=("escape",),
)
def interrupt(screen: MainScreen, argument: str) -> None:
    """Escape also leaves the past."""
    screen.model.interrupt()


def _not_retried(screen: MainScreen) -> str:
    return screen.read_only


@COMMANDS.add(
    "retry",
    "ask again",
    "ask the model again; the answer that failed, broke off or did not please leaves the context",
    keys=("ctrl+r",),
    why_not=_not_retried,
)
def retry(screen: MainScreen, argument: str) -> None:
    """The last user message once more."""
    screen.model.retry()


@COMMANDS.add("copy", "copy the last answer", "put the model's last answer on the clipboard", keys=("f12",))
def copy(screen: MainScreen, argument: str) -> None:
    """The text as the model wrote it."""
    transcript = screen.transcript
    for at in range(len(transcript) - 1, -1, -1):
        entry = transcript[at]
        if entry.kind == "ai":
            screen.app.copy_to_clipboard(entry.text)
            screen.tell(f"copied {len(entry.text):,} characters")
            return
    raise Refused("there is no answer to copy yet")
