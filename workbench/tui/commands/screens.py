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
from workbench.tui.widgets.host import Host

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession
    from workbench.tui.screens.knobs import Wanted

CONTEXT = Commands("context")
PROGRAM = Commands("program")


def session_id(opened: OpenSession) -> str:
    """The session that is open; none for a file."""
    return opened.session.id if opened.session is not None else ""


# Sessions and models


async def choose_session(host: Host) -> None:
    """Open what was chosen; where it was found by its words, go to those."""
    from workbench.tui.screens.sessions import Sessions

    now = await host.from_session(session_id)
    chosen = await host.ask(Sessions(host, now))
    if chosen is None:
        return
    if not chosen.id:
        host.model.new_session()
        return
    if chosen.id != now:
        await host.model.compacting(lambda work: work.open(chosen.id))
    if chosen.seq is not None:
        await host.model.settled()
        host.show_event(chosen.seq, "chat")


async def choose_model(host: Host) -> str:
    """The name of a model; empty where none was chosen."""
    from workbench.tui.screens.models import Models

    return await host.ask(Models(host)) or ""


async def asked_for(host: Host, title: str, text: str, about: str, check: Callable[[str], object] | None = None) -> str:
    """Something to type; empty where it was left as it is."""
    from workbench.tui.widgets.text_dialog import TextDialog

    asking = TextDialog(title, text, about, check) if check else TextDialog(title, text, about)
    return (await host.ask(asking) or "").strip()


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


async def choose_policy(host: Host) -> None:
    """Go on under another policy, or look at its knobs first."""
    from workbench.tui.screens.planning import subject
    from workbench.tui.screens.policies import Policies

    picked = await host.ask(Policies(host, await host.from_session(subject)))
    if picked is not None and picked.edit:
        await edit_policy(host, picked.ref)
    elif picked is not None:
        host.model.switch_policy(picked.ref)


async def edit_policy(host: Host, ref: str) -> None:
    """The policy editor; what it gives back holds for this session."""
    from workbench.tui.screens.knobs import Knobs
    from workbench.tui.screens.planning import subject

    asked = await host.from_session(subject)
    wanted = await host.ask(Knobs(host, asked, ref or asked.policy))
    if wanted is not None:
        await _use(host, wanted, asked.policy)


async def _use(host: Host, wanted: Wanted, now: str) -> None:
    policy = wanted.policy if wanted.policy != now else ""
    if policy:
        await host.model.compacting(lambda work: work.switch(policy=policy))
    for knob in wanted.knobs:
        host.model.set_knob(knob)


async def show_instructions(host: Host) -> None:
    """What stands in the slots of instructions and memory."""
    from workbench.tui.screens.instructions import Instructions, loaded

    host.push(Instructions(host, await host.from_session(loaded)))


@CONTEXT.add(
    "knobs",
    "policy editor",
    "every knob of the policy: what it means, where its value came from; change it here, or save a policy of your own",
    argument="[NAME|FILE]",
)
async def knobs(host: Host, argument: str) -> None:
    """Of the policy that holds, or of another."""
    await edit_policy(host, argument)


@CONTEXT.add(
    "lab", "lab", "this session under every policy, side by side: tokens, items by state, verdict, next compaction"
)
async def lab(host: Host, argument: str) -> None:
    """Enter goes on under the marked one."""
    from workbench.tui.screens.lab import Lab
    from workbench.tui.screens.planning import subject

    asked = await host.from_session(subject)
    chosen = await host.ask(Lab(host, asked))
    if chosen and chosen != asked.policy:
        host.model.switch_policy(chosen)


@CONTEXT.add(
    "tools", "tools", "the tools with what their definitions cost, on or off for this session; saved approvals"
)
async def tools(host: Host, argument: str) -> None:
    """Those of servers among them."""
    from workbench.tui.screens.tools import Tools, offered

    host.push(Tools(host, await host.from_session(offered)))


# The program


@PROGRAM.add("settings", "settings", "what config.toml says and where it lies; theme, model and policy for this run")
async def settings(host: Host, argument: str) -> None:
    """The screen says which command comes next."""
    from workbench.tui.screens.settings import SettingsScreen

    command = await host.ask(SettingsScreen(host))
    if command:
        host.run(command)
