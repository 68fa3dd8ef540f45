"""The tools of a session, and which of them the user has switched off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.agent.approvals import FILE_NAME, forget_pattern
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.plugin_tools import plugin_tools
from workbench.agent.tools.registry import Toolbox
from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir
from workbench.log.events import Event, Setting

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

OFF = "tools_off"
"""The key of the log's setting with the tools that are switched off."""


def tools_off(events: Iterable[Event]) -> tuple[str, ...]:
    """The tools that the log's last setting switches off."""
    found: Any = ()
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == OFF:
            found = event.body.value
    return tuple(str(each) for each in found) if isinstance(found, list | tuple) else ()


def session_toolbox(
    opened: OpenSession, pass_env: Sequence[str] = (), *, without: Sequence[str] = (), every: bool = False
) -> Toolbox:
    """The tools that the model may call in a session, except `without`; `every`: also those switched off in it."""
    served = {tool.name for tool in opened.served}
    more = (*peek_tools(lambda: opened.events), *plugin_tools(served), *opened.served)
    return Toolbox(Path.cwd(), switched_off=without if every else (*opened.off, *without), more=more, pass_env=pass_env)


class ToolSwitches:
    """The user's decisions about tools. Runs in the session's thread."""

    def __init__(
        self,
        free: asyncio.Lock,
        forget_approvals: Callable[[], None],
        writable: Callable[[], OpenSession],
        publish: Callable[[OpenSession], None],
    ) -> None:
        """`free` is held by a turn. `publish` fills the slots again and shows the result."""
        self._free = free
        self._forget_approvals = forget_approvals
        self._writable = writable
        self._publish = publish

    async def switch_tool(self, name: str) -> None:
        """Switch a tool off, or on again, from the next turn on. Raises Refused if the session is read-only.

        The decision is in the log at once; the definitions that are sent change when no turn runs.
        """
        opened = self._writable()
        off = tuple(sorted({*opened.off} ^ {name}))
        opened.append(Setting(OFF, list(off)))
        opened.off = off
        async with self._free:
            self._publish(self._writable())

    async def forget(self, pattern: str) -> None:
        """Delete a saved approval. Answers given in this run are forgotten too, so the user is asked again."""
        path = config_dir() / FILE_NAME
        try:
            forget_pattern(path, pattern)
        except OSError as error:
            raise WrongCall(f"{path}: cannot be written: {error.strerror or error}") from None
        self._forget_approvals()
