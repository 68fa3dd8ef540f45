"""Commands for the program itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from workbench.config.errors import Refused
from workbench.session.fault_reports import latest_report, reports_dir
from workbench.tui.widgets.command import Commands
from workbench.tui.widgets.main_screen_api import MainScreenApi

COMMANDS = Commands("program")


@COMMANDS.register(
    "settings", "settings", "what config.toml says and where it is; theme, model and policy can be changed"
)
async def choose_setting(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.settings import SettingsScreen

    command = await host.show_and_wait(SettingsScreen(host))
    if command:
        host.run_by_name(command)


@COMMANDS.register(
    "usage",
    "usage",
    "what the agents on this machine used and cost: by day, week, model, folder, agent, session or tool",
    keys=("alt+u",),
)
async def show_usage(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.usage import UsageScreen

    chosen = await host.show_and_wait(UsageScreen(host))
    if chosen:
        await host.model.open_session(chosen)


@COMMANDS.register(
    "agents",
    "agents that run",
    "the agents that run on this machine, with live figures: window, last tool, cost, held; Enter opens one",
    keys=("alt+a",),
)
async def show_lanes(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.lanes import LanesScreen

    chosen = await host.show_and_wait(LanesScreen(host))
    if chosen:
        await host.model.open_session(chosen)


def rule_forms() -> Iterable[str]:
    from workbench.proxy.breakpoints import FORMS

    return FORMS


@COMMANDS.register(
    "break",
    "breakpoints",
    "hold requests of other agents on their way through the proxy: look at them, change them, let them go",
    argument="[RULE]",
    arguments=rule_forms,
)
async def edit_breakpoints(host: MainScreenApi, argument: str) -> None:
    from workbench.proxy import control
    from workbench.proxy.breakpoints import parse_rule
    from workbench.tui.screens.breakpoints import BreakScreen

    if not argument:
        host.push(BreakScreen(host))
        return
    rule = str(parse_rule(argument))
    found = await host.in_background(control.proxy_states)
    if not found:
        raise Refused(control.NONE_RUNS)
    for proxy, state in found:
        await host.in_background(partial(control.set_rules, proxy, [*state.rules, rule]))
    host.show_notice(f"breakpoint {rule} set")


@COMMANDS.register(
    "held", "held requests", "open the request that is held at a breakpoint; of several, choose one", keys=("alt+h",)
)
async def show_held_requests(host: MainScreenApi, argument: str) -> None:
    from workbench.proxy import control
    from workbench.tui.screens.breakpoints import BreakScreen
    from workbench.tui.screens.held import open_held

    found = [(proxy, each) for proxy, state in await host.in_background(control.proxy_states) for each in state.held]
    if not found:
        raise Refused("no request is held; /break sets breakpoints")
    if len(found) > 1:
        host.push(BreakScreen(host))
    else:
        await open_held(host, found[0][0], found[0][1].id)


@COMMANDS.register(
    "report", "error report", "what went wrong in the program itself: the newest report, and where it is"
)
def show_fault_report(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.fault_report import FaultReportScreen

    path = latest_report()
    if path is None:
        host.show_notice(f"nothing has gone wrong in the program itself; reports would lie in {reports_dir()}")
    else:
        host.push(FaultReportScreen(path))


@COMMANDS.register("help", "help", "all commands and keys, searchable", keys=("f1",), letters=("question_mark",))
def show_help(host: MainScreenApi, argument: str) -> None:
    host.show_help()


@COMMANDS.register("palette", "command palette", "find a command by a few letters", keys=("ctrl+p",), slashes=())
def open_command_palette(host: MainScreenApi, argument: str) -> None:
    host.show_palette()


@COMMANDS.register(
    "quit", "quit", "end the program; the session is on disk already", keys=("ctrl+q",), slashes=("quit", "exit")
)
async def quit_program(host: MainScreenApi, argument: str) -> None:
    await host.leave()
