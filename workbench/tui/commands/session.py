"""Commands on sessions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from workbench.config.errors import Refused
from workbench.models.catalogue import LOCAL, REHEARSAL, Catalogue
from workbench.tui.commands.screens import asked_for, choose_model, choose_session, file_name, new_file
from workbench.tui.widgets.command import Commands, read_only
from workbench.tui.widgets.host import Host

COMMANDS = Commands("session")


@COMMANDS.add("new", "new session", "begin an empty session; the one that is open stays as it is", keys=("ctrl+n",))
def new(host: Host, argument: str) -> None:
    """It is kept once something was said in it."""
    host.model.new_session()


@COMMANDS.add(
    "sessions",
    "sessions",
    "find a session by its title or by what was said; open, rename, fork or delete it",
    keys=("ctrl+o",),
)
async def sessions(host: Host, argument: str) -> None:
    """The last changed first."""
    await choose_session(host)


@COMMANDS.add("open", "open", "open a session by id or title, or a file", argument="[SESSION|FILE]")
async def open_source(host: Host, argument: str) -> None:
    """A file is shown read-only."""
    argument = argument or await asked_for(host, "open", "", "A session by its id or title, or the path of a file.")
    if argument:
        host.model.open_session(str(Path(argument).expanduser()) if argument.startswith("~") else argument)


@COMMANDS.add("fork", "fork", "go on in a copy of this session, up to an event", argument="[SEQ]")
def fork(host: Host, argument: str) -> None:
    """All of it, where no event is named."""
    if argument and not argument.isdecimal():
        raise Refused(f"{argument}: expected the number of an event")
    host.model.fork(int(argument) if argument else None)


@COMMANDS.add("rename", "rename", "give this session another title", argument="[TITLE]", why_not=read_only)
async def rename(host: Host, argument: str) -> None:
    """A title is an event like any other."""
    argument = argument or await asked_for(host, "rename", host.session_title, "The session's title.")
    if argument:
        host.model.rename(argument)


@COMMANDS.add(
    "export",
    "export",
    "write this session to a file: OpenAI-style messages where its name ends in .json, else the log itself",
    argument="[FILE]",
)
async def export(host: Host, argument: str) -> None:
    """Never over a file that is there."""
    from workbench.session import reports  # late: it brings along what a turn needs

    name = file_name(host.session_title)
    about = "A new file; .json makes OpenAI-style messages of it, all else the log itself."
    argument = argument or await asked_for(host, "export", name, about, new_file)
    if not argument:
        return
    path = Path(argument).expanduser()
    events = await host.from_session(reports.events)
    written = await host.in_background(partial(reports.export, events, path))
    host.tell(f"{written:,} bytes written to {path}")


def model_names() -> Iterable[str]:
    """Our own two, then all that are known by name."""
    return [REHEARSAL, LOCAL, *Catalogue().names()]


@COMMANDS.add(
    "model",
    "model",
    "talk to another model from the next turn on; its key is read from the environment",
    argument="[NAME]",
    arguments=model_names,
)
async def model(host: Host, argument: str) -> None:
    """By name, or chosen from a list."""
    if not argument:
        argument = await choose_model(host)
    if argument:
        host.model.switch_model(argument)
