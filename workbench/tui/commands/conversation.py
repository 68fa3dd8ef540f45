"""Commands for the conversation."""

from __future__ import annotations

from workbench.config.errors import Refused
from workbench.tui.widgets.command import Commands, read_only
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.main_screen_api import MainScreenApi

COMMANDS = Commands("conversation")


@COMMANDS.register(
    "interrupt",
    "interrupt",
    "stop the model; what came so far is kept, and a waiting message is sent next",
    keys=("escape",),
)
def interrupt_turn(host: MainScreenApi, argument: str) -> None:
    """Interrupt the turn. If nothing runs, go back to the composer, and from there to the present."""
    if not host.back_to_input():
        host.model.interrupt()


@COMMANDS.register(
    "retry", "ask again", "ask the model again; the last answer is left out of the context", why_not=read_only
)
async def retry_last_message(host: MainScreenApi, argument: str) -> None:
    """Send the last user message again. It costs a request, so it asks first."""
    status = host.model.state.status
    has_message, price = await host.from_session(
        lambda opened: (opened.has_user_message, opened.setup.info.input_price)
    )
    if not has_message:
        raise Refused("nothing was said yet")
    cost = "at a price that is not known" if price is None else f"about ${price * status.tokens:,.4f} plus the answer"
    text = f"Ask {status.model} again? That sends about {status.tokens:,} tokens, {'free' if price == 0 else cost}."
    if await host.show_and_wait(ConfirmDialog("ask again", text, "ask again", "cancel")):
        host.model.retry()


@COMMANDS.register("copy", "copy the last answer", "put the model's last answer on the clipboard", keys=("f12",))
def copy_last_answer(host: MainScreenApi, argument: str) -> None:
    transcript = host.model.state.transcript
    for at in range(len(transcript) - 1, -1, -1):
        entry = transcript[at]
        if entry.kind == "ai":
            host.copy(entry.text)
            host.show_notice(f"copied {len(entry.text):,} characters")
            return
    raise Refused("there is no answer to copy yet")
