"""Finds the session meant by an agent's name, by the beginning of an id, or by the folder alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder
from workbench.config.text import age, printable
from workbench.live.known_agents import agent_homes, agent_programs

if TYPE_CHECKING:
    from workbench.live.finder import AgentSession  # late: it loads the readers of all formats

_LISTED = 5
"""Sessions to list where the user has to choose."""
_ID = 8
"""The shortest form of an id that is shown, in characters."""
MAY_BE_ID = re.compile(rf"[\w-]{{{_ID},}}")
"""What may be an id or its beginning, and no path."""
_SHORT = 3
"""Characters that are enough to abbreviate an agent's name."""
ELSEWHERE = "`workbench agents` lists those of all folders"


def places_searched() -> str:
    """Where sessions are searched, unless a variable or `config.toml` names other places."""
    return ", ".join(dict.fromkeys(f"~/{home.default}" for home in agent_homes()))


class ChosenSession(NamedTuple):
    """A session, and a note for the user about how it was chosen."""

    session: AgentSession
    note: str = ""


def choose_agent_session(sessions: Sequence[AgentSession], wanted: str, here: str) -> ChosenSession:
    """The newest session here, the newest of an agent, or the one whose id begins so. Raises WrongCall.

    `sessions`: the last changed first. `here`: the working folder.
    """
    if not wanted:
        mine = [each for each in sessions if each.is_in(here)]
        if not mine:
            raise WrongCall(f"no session of another agent in {shown_folder(here)}; {_looked(sessions)}")
        return ChosenSession(mine[0])
    agents = agents_called(wanted)
    if agents:
        return _newest(sessions, wanted, agents, here)
    found = session_with_id(sessions, wanted)
    if found is None:
        raise WrongCall(f"{wanted}: no such file, no agent, and no session with this id; {_looked(sessions)}")
    return ChosenSession(found)


def session_with_id(sessions: Iterable[AgentSession], beginning: str) -> AgentSession | None:
    """The session whose id begins so; None if there is none. Raises WrongCall if there are several."""
    found = [each for each in sessions if each.id.startswith(beginning)]
    if len(found) > 1:
        raise WrongCall(f"{beginning}: {len(found)} sessions have such an id: {_listed(found)}")
    return found[0] if found else None


def _newest(sessions: Sequence[AgentSession], wanted: str, agents: list[str], here: str) -> ChosenSession:
    if len(agents) > 1:
        raise WrongCall(f"{wanted}: expected one agent, this may be {', '.join(agents)}")
    of_agent = [each for each in sessions if each.agent == agents[0]]
    if not of_agent:
        raise WrongCall(f"{wanted}: no session of {agents[0]} on this machine; {_looked(sessions)}")
    mine = [each for each in of_agent if each.is_in(here)]
    if mine:
        return ChosenSession(mine[0])
    last = of_agent[0]
    place = f"of {shown_folder(last.folder)}" if last.folder else "of an unknown folder"
    return ChosenSession(
        last, f"no session of {last.agent} in this folder; this is the last one on this machine, {place}"
    )


def agents_called(wanted: str) -> list[str]:
    """The agents with this name, or with names that begin so."""
    plain = _plain(wanted)
    names = {_plain(name): agent for program, agent in agent_programs().items() for name in (program, agent)}
    if plain in names:
        return [names[plain]]
    begin = [agent for name, agent in names.items() if len(plain) >= _SHORT and name.startswith(plain)]
    return sorted({*begin})


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The shortest beginning of each id that no other id shares: enough to type."""
    found: dict[str, str] = {}
    before = ""
    for each, behind in pairwise([*sorted({*ids}), ""]):
        others = (before, behind)
        long = next((at for at in range(_ID, len(each)) if not any(it.startswith(each[:at]) for it in others)), None)
        found[each] = each[:long]
        before = each
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _looked(sessions: Sequence[AgentSession]) -> str:
    """Where sessions were searched, or where more are."""
    return ELSEWHERE if sessions else f"looked in {places_searched()}, and what [agents] in config.toml names"


def _listed(sessions: Sequence[AgentSession]) -> str:
    shown = [f"{each.id} ({each.agent}, {age(each.modified)}: {printable(each.title, 40)})" for each in sessions]
    return "; ".join(shown[:_LISTED]) + ("; ..." if len(shown) > _LISTED else "")
