"""The registry with all commands. A module of commands that is not in this list does not exist."""

from __future__ import annotations

from workbench.tui.commands import compaction, context, conversation, program, screens, session, view
from workbench.tui.widgets.command import Registry

REGISTRY = Registry(
    [
        conversation.COMMANDS,
        context.COMMANDS,
        screens.CONTEXT,
        compaction.COMMANDS,
        session.COMMANDS,
        view.COMMANDS,
        screens.PROGRAM,
        program.COMMANDS,
    ],
)
