"""What a log from elsewhere may set: how it is planned, and nothing outside of the log.

An exported log contains its settings, and its author may have named files to read, other sessions, or addresses to
send things to. Such settings are reported and not applied; the user can set them again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from workbench.compaction.prompts import NAMES
from workbench.config.errors import WorkbenchError
from workbench.config.paths import config_dir
from workbench.config.values import replace
from workbench.context.policy_names import PRESETS
from workbench.log.codec import decode_event, encode_event
from workbench.log.errors import BadEvent
from workbench.log.events import CONTINUED_FROM, Body, Compaction, Event, Failure, Setting
from workbench.models.model_names import is_model_name
from workbench.sources.planned_under import PLANNED_UNDER, PlannedUnder, planned_under

NOT_APPLIED = "settings"
"""The category of the failure that lists what was not applied."""
_REACHING = frozenset({"compaction.prompt", "compaction.model", "instructions.root_markers"})
"""Knobs that refer to something outside the log."""


def harmless_log(events: Iterable[Event]) -> list[Event]:
    """The events of a file, with one more at the end that lists the settings that were not applied, if any."""
    refused: list[str] = []
    found = [*events]
    for at, event in enumerate(found):
        if type(event.body) in (Setting, Compaction):
            found[at] = replace(event, body=harmless_body(event.body, refused))
    if refused:
        found.append(Event(len(found) + 1, f"e{len(found) + 1:05d}", found[-1].at, not_applied(refused)))
    return found


def harmless_lines(lines: Iterable[str], refused: list[str]) -> Iterator[str]:
    """The lines of an exported log. Lines that are no events stay as they are, so that their reader reports them."""
    for line in lines:
        try:
            event = decode_event(line)
        except BadEvent:
            yield line
            continue
        body = harmless_body(event.body, refused)
        yield line if body is event.body else encode_event(replace(event, body=body))


def not_applied(refused: Iterable[str]) -> Failure:
    """The failure that lists settings that were not applied."""
    listed = ", ".join(dict.fromkeys(refused))
    return Failure(
        NOT_APPLIED, f"not taken over from the file, because it reaches beyond it or cannot be set: {listed}"
    )


def harmless_body(body: Body, refused: list[str]) -> Body:
    """A body without references to anything outside the log; those are added to `refused`."""
    match body:
        case Setting(key="knobs", value=list() | tuple() as knobs):
            kept = _harmless_knobs(map(str, knobs), refused)
            return body if len(kept) == len(knobs) else Setting("knobs", kept)
        case Setting(key=key) if key == PLANNED_UNDER:
            under = planned_under([Event(1, "", 0, body)]) or PlannedUnder()
            if not _is_policy(under.policy):
                refused.append(f"policy={under.policy}")
                under = under._replace(policy="")
            return under._replace(knobs=tuple(_harmless_knobs(under.knobs, refused))).setting
        case Setting(key=key, value=value) if key in _CHECKS and not _CHECKS[key](str(value or "")):
            refused.append(f"{key}={value}")
            return Setting(key, "")
        case Compaction(meta=meta) if CONTINUED_FROM in meta:
            return replace(body, meta={name: each for name, each in meta.items() if name != CONTINUED_FROM})
    return body


def _harmless_knobs(knobs: Iterable[str], refused: list[str]) -> list[str]:
    kept: list[str] = []
    for knob in knobs:
        (kept if _is_harmless_knob(knob) and _loads([*kept, knob]) else refused).append(knob)
    return kept


def _is_harmless_knob(knob: str) -> bool:
    name, _, text = knob.partition("=")
    name = name.strip()
    if name not in _REACHING:
        return True
    from workbench.context.knobs import parse_text  # late, like `load`: most files set no knobs

    value: Any = parse_text(text.strip())
    match name:
        case "compaction.prompt":
            return value in NAMES
        case "compaction.model":
            return isinstance(value, str) and _is_model(value)
    return False


def _loads(knobs: Sequence[str]) -> bool:
    """Whether a policy loads with these knobs. Otherwise the session could not be opened."""
    from workbench.context.load import load_policy

    try:
        load_policy(None, sets=knobs, env={})
    except WorkbenchError:
        return False
    return True


def _is_model(name: str) -> bool:
    """Whether it is the name of a model and no path or address. The user's settings say which server has the model."""
    return not name or (is_model_name(name) and not name.startswith(("local:", ".", "~")))


def _is_policy(name: str) -> bool:
    """Whether it is the name of a preset, of one of the user's own policies, or of a plug-in's."""
    from workbench.context.load import POLICIES

    own = re.fullmatch(r"[\w-][\w.-]*", name) and os.path.isfile(config_dir() / "policies" / f"{name}.toml")
    return not name or name in PRESETS or bool(own) or POLICIES.find_named(name) is not None


def _is_nothing(session: str) -> bool:
    """A file must never name another session, because tools could then read that session."""
    return not session


_CHECKS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"model": _is_model, "policy": _is_policy, CONTINUED_FROM: _is_nothing}
)
