"""Commands for sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.errors import Refused, WrongCall
from workbench.config.text import counted
from workbench.config.variables import known_keys
from workbench.models.catalogue import LOCAL, REHEARSAL, Catalogue
from workbench.sources.options import Detour
from workbench.tui.widgets.command import Commands, event_number, read_only
from workbench.tui.widgets.main_screen_api import MainScreenApi

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

COMMANDS = Commands("session")
REDACT = "--redact"


def came_from(opened: OpenSession) -> str:
    """The reference that opens a session again; empty for an empty session, which is not kept."""
    if opened.session is None:
        return opened.ref
    return opened.session.id if opened.has_user_message or not opened.ours else ""


def session_id(opened: OpenSession) -> str:
    """The id of the open session; empty for a file."""
    return opened.session.id if opened.session is not None else ""


async def choose_and_open_session(host: MainScreenApi) -> None:
    """Choose a session and open it; if it was found by a search, go to the match."""
    from workbench.tui.screens.sessions import SessionsScreen

    now = await host.from_session(session_id)
    chosen = await host.show_and_wait(SessionsScreen(host, now))
    if chosen is None:
        return
    if not chosen.id:
        host.model.new_session()
        return
    if chosen.id != now:
        await host.model.open_session(chosen.id)
    if chosen.seq is not None:
        await host.model.settled()
        host.show_event(chosen.seq, "chat")


async def choose_model(host: MainScreenApi) -> str:
    """Choose a model; empty if the user chose none."""
    from workbench.tui.screens.models import ModelsScreen

    return await host.show_and_wait(ModelsScreen(host)) or ""


async def ask_for_text(
    host: MainScreenApi, title: str, text: str, about: str, check: Callable[[str], object] = str
) -> str:
    """Ask the user for a text; empty if the user changed nothing."""
    from workbench.tui.widgets.text_dialog import TextDialog

    return (await host.show_and_wait(TextDialog(title, text, about, check)) or "").strip()


def new_file(text: str) -> None:
    """Raise if a text cannot be the name of a new file."""
    if not text.strip() or os.path.exists(os.path.expanduser(text.strip())):
        raise WrongCall(f"{text.strip() or 'nothing'}: expected the name of a file that is not there yet")


def file_name(title: str) -> str:
    """A file name made from a session's title."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-")
    return f"{words or 'session'}.jsonl"


@COMMANDS.register("new", "new session", "start an empty session", keys=("ctrl+n",))
def start_new_session(host: MainScreenApi, argument: str) -> None:
    """Start a session; it is kept once it has a message."""
    host.model.new_session()


@COMMANDS.register(
    "sessions",
    "sessions",
    "find a session by its title or by what was said; open, rename, fork or delete it",
    keys=("ctrl+o",),
)
async def list_sessions(host: MainScreenApi, argument: str) -> None:
    await choose_and_open_session(host)


@COMMANDS.register("open", "open", "open a session by id or title, or a file", argument="[SESSION|FILE]")
async def open_named_source(host: MainScreenApi, argument: str) -> None:
    argument = argument or await ask_for_text(host, "open", "", "A session by its id or title, or the path of a file.")
    if argument:
        host.model.open_session(os.path.expanduser(argument))


@COMMANDS.register("follow", "follow", "read this file again while its agent writes it, or stop that", letters=("W",))
def toggle_following(host: MainScreenApi, argument: str) -> None:
    """Follow the open file, or stop. The file of a running agent is followed by default."""
    host.model.follow()


@COMMANDS.register(
    "stay",
    "stay with this session",
    "in `workbench watch`: stay with this session, or follow the one that is active in this folder again",
    keys=("alt+s",),
)
def toggle_pin(host: MainScreenApi, argument: str) -> None:
    host.model.toggle_pin()


@COMMANDS.register(
    "demo",
    "demo",
    "look around in a recorded session, of which nothing is kept; quitting comes back",
    why_not=lambda host: "" if host.demo is None else "this is the demo; Ctrl+Q leaves it",
)
async def open_demo(host: MainScreenApi, argument: str) -> None:
    """Open the demo; the current session closes meanwhile."""
    if host.model.state.activity.kind not in ("idle", "read_only"):
        raise Refused("the model is still working; Esc stops it")
    await host.leave(Detour(await host.from_session(came_from)))


@COMMANDS.register("fork", "fork", "continue in a copy of this session, up to an event", argument="[SEQ]")
def fork_session(host: MainScreenApi, argument: str) -> None:
    host.model.fork(event_number(argument) if argument else None)


@COMMANDS.register(
    "continue",
    "continue from previous",
    "start a new session from a summary of this one, or of another; you can edit the summary first",
    argument="[SESSION]",
    keys=("f10",),
)
async def continue_from(host: MainScreenApi, argument: str) -> None:
    """Start a new session from a summary of this one, or of the last one if this one is empty."""
    from workbench.tui.screens.continuing import ContinueScreen

    if await host.show_and_wait(ContinueScreen(host, argument)):
        host.show_notice(f"now in {host.model.state.title}; the other session is unchanged")


@COMMANDS.register("rename", "rename", "give this session another title", argument="[TITLE]", why_not=read_only)
async def rename_session(host: MainScreenApi, argument: str) -> None:
    argument = argument or await ask_for_text(host, "rename", host.model.state.title, "The session's title.")
    if argument:
        host.model.rename(argument)


@COMMANDS.register(
    "export",
    "export",
    "write this session to a file: a page where its name ends in .html, messages where it ends in .json, else the log "
    "itself; --redact masks secrets",
    argument="[FILE] [--redact]",
)
async def export_session(host: MainScreenApi, argument: str) -> None:
    """Export the session; never overwrites a file."""
    from workbench.proxy.redaction import Redactor
    from workbench.session import reports  # late: it imports what a turn needs

    name = file_name(host.model.state.title)
    about = "A new file; .html makes a page for a browser, .json OpenAI-style messages, all else the log itself."
    argument = argument or await ask_for_text(host, "export", name, about, new_file)
    if not argument:
        return
    asked = argument.removesuffix(REDACT).rstrip()
    path = Path(os.path.expanduser(asked))
    if path.suffix == ".html":
        source = await host.from_session(reports.current_source)
        write = partial(reports.write_page, host.services, source, path, redact=asked != argument)
        size, masked = await host.in_background(write)
        also = f"; {counted(masked, 'secret')} masked" if asked != argument else ""
        host.show_notice(f"{size:,} bytes written to {path}{also}")
        return
    redactor = Redactor(known_keys()) if asked != argument else None
    events = await host.from_session(reports.logged_events)
    written = await host.in_background(partial(reports.write_export, events, path, redactor))
    also = f"; {counted(redactor.count, 'secret')} masked" if redactor is not None else ""
    host.show_notice(f"{written:,} bytes written to {path}{also}")


def model_names() -> Iterable[str]:
    """Our own two models, then those in the catalogue."""
    return [REHEARSAL, LOCAL, *Catalogue().names()]


@COMMANDS.register(
    "model",
    "model",
    "talk to another model from the next turn on; its key is read from the environment",
    keys=("f7",),
    argument="[NAME]",
    arguments=model_names,
)
async def switch_model(host: MainScreenApi, argument: str) -> None:
    if not argument:
        argument = await choose_model(host)
    if argument:
        host.model.switch_model(argument)
        if not host.services.settings.model and argument.partition("/")[0] != REHEARSAL:
            path = await host.in_background(partial(host.services.keep_setting, "model", argument))
            host.show_notice(f"new sessions begin with {argument} from now on: {path}")
