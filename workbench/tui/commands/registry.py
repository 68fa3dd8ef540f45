"""All commands, and the main screen with them. A module of commands has to be imported here."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from workbench.tui.commands import compaction, context, conversation, program, session, view
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.command import Registry

REGISTRY = Registry(
    [conversation.COMMANDS, context.COMMANDS, compaction.COMMANDS, session.COMMANDS, view.COMMANDS, program.COMMANDS]
)


class WorkbenchScreen(MainScreen):
    """The main screen with every command and its keys."""

    REGISTRY = REGISTRY
    BINDINGS: ClassVar[list[BindingType]] = [*REGISTRY.bindings()]
