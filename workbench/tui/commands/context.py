"""Commands for the context: what the model sees, and under which policy.

The screens are imported when they are first used, to keep the first frame fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from workbench.compaction.undo import last_override
from workbench.config.errors import Refused, WrongCall
from workbench.config.text import event_range
from workbench.context.knobs import knob_table
from workbench.context.load import plugin_policies, preset_names, user_policies
from workbench.context.policy_names import RECORDED
from workbench.log.events import OverrideAction
from workbench.proxy.control import PolicyOrder, ProxyPolicy
from workbench.proxy.policy_notes import DEFAULT, NO_PROXY, OFF
from workbench.tui.compaction import undoing
from workbench.tui.widgets.command import Commands, read_only, read_only_session
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.report import ReportScreen
from workbench.tui.widgets.text_dialog import TextDialog

if TYPE_CHECKING:
    from workbench.session.undoing import Which

COMMANDS = Commands("context")
RANGE = "SEQ[-SEQ]"


@COMMANDS.register(
    "tokens",
    "tokens",
    "used and window, the latest and the average turn, the threshold and the next compaction, and the cost",
    keys=("ctrl+t",),
)
async def show_token_account(host: MainScreenApi, argument: str) -> None:
    from workbench.session import reports  # late: it imports what a turn needs

    rows = await host.from_session(partial(reports.token_figures, view=host.model.state.compaction))
    host.push(ReportScreen("tokens", rows))


@COMMANDS.register(
    "instructions", "instructions", "the loaded AGENTS.md and preferences with their tokens, and what was cut"
)
async def show_instructions(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.instructions import InstructionsScreen, loaded_instructions

    host.push(InstructionsScreen(host, await host.from_session(loaded_instructions)))


@COMMANDS.register(
    "request",
    "the request",
    "the request as it will be sent: searchable, as JSON or as a curl command; with a number, go to that request",
    letters=("w",),
    argument="[N]",
)
def show_request(host: MainScreenApi, argument: str) -> None:
    if argument:
        host.go_to_request(argument)
    else:
        host.show_request()


@COMMANDS.register(
    "replay",
    "replay the request",
    "send the recorded request in view again, unchanged or changed, and compare the answers",
    argument="[WORDS]",
)
async def replay_shown_request(host: MainScreenApi, argument: str) -> None:
    """Replay the request, with options as on the command line: `-n 3 --exclude messages.7`."""
    from workbench.tui.screens.replay import replay_request

    await replay_request(host, argument)


@COMMANDS.register(
    "explain",
    "explain the answer",
    "what the answer to the request in view depended on: send it again with items left out; m masks what had no effect",
    argument="[WORDS]",
    once=True,
)
async def explain_answer(host: MainScreenApi, argument: str) -> None:
    """Explain the answer, with options as on the command line: `--groups --to local`."""
    from workbench.tui.screens.explain import explain_shown_request

    await explain_shown_request(host, argument)


@COMMANDS.register("go-to", "go to a request", "go to a request by its number", letters=("t",), slashes=())
async def go_to(host: MainScreenApi, argument: str) -> None:
    number = await host.show_and_wait(TextDialog("go to a request", "", "its number, as the timeline counts them"))
    if number:
        host.go_to_request(number.strip())


@COMMANDS.register(
    "ledger",
    "the ledger",
    "request by request: our count, the provider's, the difference, and the cost",
    letters=("a",),
)
def show_ledger(host: MainScreenApi, argument: str) -> None:
    host.show_ledger()


def policy_choices() -> Iterable[str]:
    """The presets, the policies of plug-ins, the user's own, and the word that switches a proxy's policy off."""
    return [*preset_names(), *plugin_policies(), *(str(path) for path in user_policies()), OFF, DEFAULT]


@COMMANDS.register(
    "policy",
    "policy",
    "plan the same log under another policy, or have the proxy send a running agent's requests under it; shows first "
    "what it would do to this session",
    letters=("P",),
    argument="[NAME|FILE|off|default [KNOB=VALUE]]",
    arguments=policy_choices,
)
async def set_session_policy(host: MainScreenApi, argument: str) -> None:
    """Set the policy, by name and perhaps with knobs, or from a list."""
    words = argument.split()
    knobs = tuple(takewhile(lambda word: "=" in word, reversed(words)))
    if argument and len(knobs) < len(words):
        await use_policy(host, " ".join(words[: len(words) - len(knobs)]), knobs[::-1])
    elif argument:
        raise WrongCall(f"{argument}: expected a policy before its knobs, as in layers {argument}; /set sets one alone")
    else:
        await choose_policy(host)


async def use_policy(host: MainScreenApi, ref: str, knobs: tuple[str, ...] = (), now: str = "") -> None:
    """Set the policy in the proxy if one records the session; otherwise, or for a what-if, set it here."""
    from workbench.tui.screens.proxy_policy import passing_session, set_on_the_way

    passing = await passing_session(host) if ref != RECORDED else None
    if passing is not None:
        do: Literal["set", "off", "default"] = "off" if ref == OFF else "default" if ref == DEFAULT else "set"
        if await set_on_the_way(
            host, passing, PolicyOrder(do, ProxyPolicy(ref, knobs) if do == "set" else ProxyPolicy())
        ):
            return
    elif ref in (OFF, DEFAULT):
        raise Refused(NO_PROXY)
    if not knobs:
        host.model.switch_policy(ref)
    elif ref != now:
        await host.model.switch_policy(ref)
    for knob in knobs:
        host.model.set_knob(knob)


@COMMANDS.register(
    "set",
    "set a knob",
    "set one knob of the policy for this session, as in /set masking.keep_last=3",
    argument="KNOB=VALUE",
    arguments=lambda: [f"{row.name}=" for row in knob_table()],
)
def set_knob(host: MainScreenApi, argument: str) -> None:
    host.model.set_knob(argument)


def _add_override(action: OverrideAction, text: str) -> None:
    @COMMANDS.register(action, action, text, argument=RANGE, why_not=read_only)
    def decide(host: MainScreenApi, argument: str) -> None:
        host.model.decide(action, *event_range(argument))


_add_override("pin", "always send an item whole")
_add_override("unpin", "unpin an item: the policy decides again")
_add_override("mask", "send a marker in place of an item")
_add_override("unmask", "send a masked item again")
_add_override("exclude", "leave an item out of the request, with its pair")
_add_override("include", "send an excluded item again")


def not_undoable(host: MainScreenApi) -> str:
    """Why nothing can be undone: the session is read-only, and no proxy changes its requests."""
    state = host.model.state
    return "" if state.compaction is not None and state.compaction.proxy_policy is not None else read_only_session(host)


async def _undone_on_the_way(host: MainScreenApi) -> bool:
    """Undo the last batch of the proxy that records the session, if there is one; returns whether it did."""
    if not read_only_session(host):
        return False
    from workbench.tui.screens.proxy_policy import undo_on_the_way

    await undo_on_the_way(host)
    return True


@COMMANDS.register(
    "undo",
    "undo",
    "undo the last change: an override, or a compaction, which asks first; of a policy on the way, its last batch",
    keys=("f9",),
    why_not=not_undoable,
)
async def undo_last_change(host: MainScreenApi, argument: str) -> None:
    if not await _undone_on_the_way(host):
        await undoing.undo_or_redo(host, "undo")


@COMMANDS.register(
    "undo-here",
    "undo in this pane",
    "undo the last override in the context, the newest compaction in its pane; else the last change",
    letters=("u",),
    slashes=(),
    why_not=not_undoable,
)
async def undo_here(host: MainScreenApi, argument: str) -> None:
    if await _undone_on_the_way(host):
        return
    which: Which = "undo"
    if host.active_pane == "compaction":
        which = "peel"
    elif host.active_pane == "context":
        found = await host.from_session(lambda opened: last_override(opened.events))
        which = "undo" if found is None else "override"
    await undoing.undo_or_redo(host, which)


@COMMANDS.register(
    "redo", "redo", "redo what was undone last", keys=("shift+f9",), letters=("U",), why_not=read_only_session
)
async def redo_last_change(host: MainScreenApi, argument: str) -> None:
    await undoing.undo_or_redo(host, "redo")


async def choose_policy(host: MainScreenApi) -> None:
    """Choose another policy from a list, or look at its knobs first."""
    from workbench.tui.screens.policies import PoliciesScreen
    from workbench.tui.screens.proxy_policy import passing_session
    from workbench.tui.screens.what_if import session_snapshot

    passing = await passing_session(host)
    picked = await host.show_and_wait(PoliciesScreen(host, await host.from_session(session_snapshot), passing))
    if picked is not None and picked.edit:
        await edit_policy(host, picked.ref)
    elif picked is not None:
        await use_policy(host, picked.ref)


async def edit_policy(host: MainScreenApi, ref: str) -> None:
    """Open the policy editor; its result applies to this session."""
    from workbench.tui.screens.policy_editor import PolicyEditor
    from workbench.tui.screens.what_if import session_snapshot

    asked = await host.from_session(session_snapshot)
    wanted = await host.show_and_wait(PolicyEditor(host, asked, ref or asked.policy))
    if wanted is not None:
        await use_policy(host, wanted.policy, wanted.knobs, asked.policy)


@COMMANDS.register(
    "knobs",
    "policy editor",
    "every knob of the policy: what it means, where its value came from; change it here, or save a policy of your own",
    argument="[NAME|FILE]",
)
async def open_knobs(host: MainScreenApi, argument: str) -> None:
    await edit_policy(host, argument)


@COMMANDS.register(
    "lab",
    "lab",
    "this session under every policy, request by request: tokens, cost, and what would have been missed; turn knobs, "
    "and the curve follows",
)
async def open_lab(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.lab import LabScreen
    from workbench.tui.screens.what_if import session_snapshot

    asked = await host.from_session(session_snapshot)
    chosen = await host.show_and_wait(LabScreen(host, asked))
    if chosen is not None:  # also the policy of now: its file may have been saved in the lab
        await use_policy(host, chosen.policy, chosen.knobs, asked.policy)


@COMMANDS.register(
    "free",
    "free space",
    "what the request in view could do without: what is no longer needed (read again, overwritten, tried again, "
    "defined twice), or the largest items; Enter masks the chosen ones",
    argument="[unneeded|largest]",
    arguments=lambda: ("unneeded", "largest"),
    slashes=("free", "waste"),
)
async def list_freeable(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.free_space import free_space
    from workbench.tui.screens.freeable import ORDERS

    order = next((each for each in ORDERS if each == (argument or ORDERS[0])), None)
    if order is None:
        raise WrongCall(f"{argument}: expected one of {', '.join(ORDERS)}")
    await free_space(host, order)


@COMMANDS.register(
    "tools", "tools", "the tools with what their definitions cost, on or off for this session; saved approvals"
)
async def show_tools(host: MainScreenApi, argument: str) -> None:
    from workbench.tui.screens.tools import ToolsScreen, session_tools

    host.push(ToolsScreen(host, await host.from_session(session_tools)))
