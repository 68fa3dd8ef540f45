"""Commands on the program itself."""

from __future__ import annotations

from workbench.session.fault_reports import latest_report, reports_dir
from workbench.tui.widgets.command import Commands
from workbench.tui.widgets.host import Host

COMMANDS = Commands("program")


@COMMANDS.add("settings", "settings", "what config.toml says and where it is; theme, model and policy can be changed")
async def settings(host: Host, argument: str) -> None:
    """The screen says which command comes next."""
    from workbench.tui.screens.settings import SettingsScreen

    command = await host.ask(SettingsScreen(host))
    if command:
        host.run(command)


@COMMANDS.add("report", "error report", "what went wrong in the program itself: the newest report, and where it is")
def report(host: Host, argument: str) -> None:
    """For whoever mends it."""
    from workbench.tui.screens.fault_report import FaultReportScreen

    path = latest_report()
    if path is None:
        host.tell(f"nothing has gone wrong in the program itself; reports would lie in {reports_dir()}")
    else:
        host.push(FaultReportScreen(path))


@COMMANDS.add("help", "help", "all commands and keys, searchable", keys=("f1",), letters=("question_mark",))
def show_help(host: Host, argument: str) -> None:
    """Made from the registry, and from the keys of whoever has the focus."""
    host.show_help()


@COMMANDS.add("palette", "command palette", "find a command by a few letters", keys=("ctrl+p",), slashes=())
def palette(host: Host, argument: str) -> None:
    """All that can be done."""
    host.show_palette()


@COMMANDS.add(
    "quit", "quit", "end the program; the session is on disk already", keys=("ctrl+q",), slashes=("quit", "exit")
)
async def leave(host: Host, argument: str) -> None:
    """What the model is saying is kept as far as it came."""
    await host.leave()
