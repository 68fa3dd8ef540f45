"""Commands with a screen of their own, and what the others ask where nothing was typed behind them.

The screens are imported when they are first asked for: the first frame does not wait for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.errors import WrongCall
from workbench.tui.widgets.command import Commands

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession
    from workbench.tui.main.screen import MainScreen
    from workbench.tui.screens.knobs import Wanted

CONTEXT = Commands("context")
PROGRAM = Commands("program")


def session_id(opened: OpenSession) -> str:
    """The session that is open; none for a file."""
    return opened.session.id if opened.session is not None else ""


# Sessions and models


async def choose_session(screen: MainScreen) -> None:
    """Open what was chosen; where it was found by its words, go to those."""
    from workbench.tui.screens.sessions import Sessions

    now = await screen.asked(session_id)
    chosen = await screen.app.push_screen_wait(Sessions(screen, now))
    if chosen is None:
        return
    if not chosen.id:
        screen.model.new_session()
        return
    if chosen.id != now:
        await screen.model.compacting(lambda work: work.open(chosen.id))
    if chosen.seq is not None:
        await screen.model.settled()
        screen.focus_pane("chat")
        screen.chat.show_event(chosen.seq)


async def choose_model(screen: MainScreen) -> str:
    """The name of a model; empty where none was chosen."""
    from workbench.tui.screens.models import Models

    return await screen.app.push_screen_wait(Models(screen)) or ""


async def asked_for(
    screen: MainScreen, title: str, text: str, about: str, check: Callable[[str], object] | None = None
) -> str:
    """Something to type; empty where it was left as it is."""
    from workbench.tui.widgets.text_dialog import TextDialog

    asking = TextDialog(title, text, about, check) if check else TextDialog(title, text, about)
    return (await screen.app.push_screen_wait(asking) or "").strip()


def new_file(text: str) -> None:
    """Raise for what cannot be the name of a new file."""
    path = Path(text.strip()).expanduser()
    if not text.strip() or path.exists():
        raise WrongCall(f"{text.strip() or 'nothing'}: expected the name of a file that is not there yet")


def file_name(title: str) -> str:
    """A file's name from a session's title."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-")
    return f"{words or 'session'}.jsonl"


# The context


async def choose_policy(screen: MainScreen) -> None:
    """Go on under another policy, or look at its knobs first."""
    from workbench.tui.screens.planning import subject
    from workbench.tui.screens.policies import Policies

    picked = await screen.app.push_screen_wait(Policies(screen, await screen.asked(subject)))
    if picked is not None and picked.edit:
        await edit_policy(screen, picked.ref)
    elif picked is not None:
        screen.model.switch_policy(picked.ref)


async def edit_policy(screen: MainScreen, ref: str) -> None:
    """The policy editor; what it gives back holds for this session."""
    from workbench.tui.screens.knobs import Knobs
    from workbench.tui.screens.planning import subject

    asked = await screen.asked(subject)
    wanted = await screen.app.push_screen_wait(Knobs(screen, asked, ref or asked.policy))
    if wanted is not None:
        await _use(screen, wanted, asked.policy)


async def _use(screen: MainScreen, wanted: Wanted, now: str) -> None:
    policy = wanted.policy if wanted.policy != now else ""
    if policy:
        await screen.model.compacting(lambda work: work.switch(policy=policy))
    for knob in wanted.knobs:
        screen.model.set_knob(knob)


async def show_instructions(screen: MainScreen) -> None:
    """What stands in the slots of instructions and memory."""
    from workbench.tui.screens.instructions import Instructions, loaded

    screen.app.push_screen(Instructions(screen, await screen.asked(loaded)))


@CONTEXT.add(
    "knobs",
    "policy editor",
    "every knob of the policy: what it means, where its value came from; change it here, or save a policy of your own",
    argument="[NAME|FILE]",
)
async def knobs(screen: MainScreen, argument: str) -> None:
    """Of the policy that holds, or of another."""
    await edit_policy(screen, argument)


@CONTEXT.add(
    "lab", "lab", "this session under every policy, side by side: tokens, items by state, verdict, next compaction"
)
async def lab(screen: MainScreen, argument: str) -> None:
    """Enter goes on under the marked one."""
    from workbench.tui.screens.lab import Lab
    from workbench.tui.screens.planning import subject

    asked = await screen.asked(subject)
    chosen = await screen.app.push_screen_wait(Lab(screen, asked))
    if chosen and chosen != asked.policy:
        screen.model.switch_policy(chosen)


@CONTEXT.add(
    "tools", "tools", "the tools with what their definitions cost, on or off for this session; saved approvals"
)
async def tools(screen: MainScreen, argument: str) -> None:
    """Those of servers among them."""
    from workbench.tui.screens.tools import Tools, offered

    screen.app.push_screen(Tools(screen, await screen.asked(offered)))


# The program


@PROGRAM.add("settings", "settings", "what config.toml says and where it lies; theme, model and policy for this run")
async def settings(screen: MainScreen, argument: str) -> None:
    """The screen says which command comes next."""
    from workbench.tui.screens.settings import SettingsScreen

    command = await screen.app.push_screen_wait(SettingsScreen(screen))
    if command:
        screen.run_command(screen.registry[command])
