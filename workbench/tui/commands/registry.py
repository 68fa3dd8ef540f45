"""All commands, and the main screen that has them. A module of commands that is not in this list does not exist."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from workbench.tui.commands import compaction, context, conversation, program, session, view
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.command import Registry

REGISTRY = Registry(
    [
        conversation.COMMANDS,
        context.COMMANDS,
        compaction.COMMANDS,
        session.COMMANDS,
        view.COMMANDS,
        program.COMMANDS,
    ],
)


class WorkbenchScreen(MainScreen):
    """The main screen with every command, by its name and by its keys."""

    REGISTRY = REGISTRY
    BINDINGS: ClassVar[list[BindingType]] = [*REGISTRY.bindings()]
