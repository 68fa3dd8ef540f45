"""The welcome, which an empty chat shows: the sessions that can be opened, and the model that would answer."""

from __future__ import annotations

import os

from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import printable
from workbench.log.events import Usage
from workbench.log.session import SessionInfo
from workbench.models.catalogue import REHEARSAL, is_local
from workbench.models.keys import keys_set, variables_of
from workbench.session.open_session import OpenSession
from workbench.sources.all_agents import all_agents
from workbench.sources.services import Services
from workbench.views.values import Welcome, WelcomeLists, WelcomeSession

LISTED = 8
"""The largest number of sessions of each kind in the lists."""
LOOKED_AT = 40
"""Events at the end of a session that are searched for its last usage report."""
NO_MODEL = "no model configured: rehearsal answers by rule, without AI."


def welcome_of(opened: OpenSession, lists: WelcomeLists, configured: str) -> Welcome | None:
    """The welcome; None if the conversation is not empty. `configured`: the model of the user's settings."""
    if opened.entries.has_talk:
        return None
    if opened.session is None:
        return Welcome(file=opened.name)
    return Welcome(lists, *_model(opened, configured))


def _model(opened: OpenSession, configured: str) -> tuple[str, str]:
    """Which model answers, and how to choose another."""
    model = printable(opened.setup.model)
    if opened.is_rehearsed and configured.partition("/")[0] == REHEARSAL:
        return "rehearsal answers by rule, without AI.", "F7 chooses a model."
    if opened.is_rehearsed:
        found = keys_set(os.environ)
        if found:
            return NO_MODEL, f"{found[0]} is set: F7 chooses one of its models."
        return NO_MODEL, "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or press F7."
    if is_local(model):
        return f"{model}: on this machine", ""
    if opened.lacks_key:
        variables = variables_of(opened.setup.info.provider)
        return f"{model}: no key.", f"Set {variables[0] if variables else 'its key'}, or press F7 for another model."
    return f"{model}: ready", ""


def folder_sessions(services: Services, opened: OpenSession) -> tuple[WelcomeSession, ...]:
    """The sessions of this folder, the last changed first, without the open one."""
    here = work_folder().path
    now = opened.session.id if opened.session is not None else ""
    found = services.store.list(LISTED + 1, folder=here) if here else []
    return tuple(_listed(services, info) for info in found if info.id != now)[:LISTED]


def _listed(services: Services, info: SessionInfo) -> WelcomeSession:
    with services.store.session(info.id, write=False) as session:
        reports = [event.body for event in session.last(LOOKED_AT) if isinstance(event.body, Usage)]
    tokens = next((each.prompt + each.completion for each in reversed(reports) if each.prompt is not None), None)
    return WelcomeSession(info.id, info.title or info.id, info.updated, tokens=tokens)


def listed_agents(services: Services) -> tuple[WelcomeSession, ...]:
    """Other agents' sessions that have a title, those of this folder first."""
    here = work_folder().path
    found = [each for each in all_agents(services, here).sessions if each.title and not each.passed]
    found.sort(key=lambda each: not here or each.folder != here)
    return tuple(
        WelcomeSession(
            each.ref, each.title, each.modified, each.agent, "" if each.folder == here else shown_folder(each.folder)
        )
        for each in found[:LISTED]
    )
