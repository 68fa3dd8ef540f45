"""The tools of a session: which there are, and which the user switched off for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.agent.approvals import FILE_NAME, forget
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.registry import Toolbox
from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir
from workbench.log.events import Event, Setting

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

OFF = "tools_off"
"""The setting in the log that names the tools that are not offered."""


def tools_off(events: Iterable[Event]) -> tuple[str, ...]:
    """The tools that a log switches off."""
    found: Any = ()
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == OFF:
            found = event.body.value
    return tuple(str(each) for each in found) if isinstance(found, list | tuple) else ()


def toolbox(
    opened: OpenSession, pass_env: Sequence[str] = (), *, without: Sequence[str] = (), every: bool = False
) -> Toolbox:
    """What the model may call in a session, but for `without`; `every`: what the session switches off as well."""
    more = (*peek_tools(lambda: opened.events), *opened.served)
    return Toolbox(Path.cwd(), switched_off=without if every else (*opened.off, *without), more=more, pass_env=pass_env)


class ToolSwitches:
    """What the user decides about tools. Lives in the session's thread."""

    def __init__(
        self,
        free: asyncio.Lock,
        forget_approvals: Callable[[], None],
        writable: Callable[[], OpenSession],
        publish: Callable[[OpenSession], None],
    ) -> None:
        """`free` is held by a turn. `publish` fills the slots anew and shows what came of it."""
        self._free = free
        self._forget_approvals = forget_approvals
        self._writable = writable
        self._publish = publish

    async def switch(self, off: Iterable[str]) -> None:
        """Offer all tools but these, from the next turn on. Raises Refused where the session cannot be changed."""
        self._writable()
        async with self._free:
            opened = self._writable()
            opened.off = tuple(sorted(off))
            opened.append(Setting(OFF, list(opened.off)))
            self._publish(opened)

    async def forget(self, pattern: str) -> None:
        """Take a saved approval back; what was answered for this run is asked again as well."""
        path = config_dir() / FILE_NAME
        try:
            forget(path, pattern)
        except OSError as error:
            raise WrongCall(f"{path}: cannot be written: {error.strerror or error}") from None
        self._forget_approvals()
