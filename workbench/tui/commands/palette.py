"""The commands in the command palette."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.command import Command
from workbench.tui.widgets.help import keys_of


class CommandHits(Provider):
    """Offers the commands that can run now and need no argument."""

    async def discover(self) -> Hits:
        """All commands, before anything is typed."""
        for command in self._offered():
            yield DiscoveryHit(self._shown(command), self._run(command), help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._offered():
            score = max(matcher.match(command.title), matcher.match(command.name))
            if score > 0:
                yield Hit(score, matcher.highlight(self._shown(command)), self._run(command), help=command.help)

    def _offered(self) -> list[Command]:
        screen = self.screen
        if not isinstance(screen, MainScreen):
            return []
        return [
            command
            for command in screen.REGISTRY.commands
            if command.name != "palette"
            and not command.needs_argument
            and not (command.why_not is not None and command.why_not(screen))
        ]

    def _run(self, command: Command) -> partial[None]:
        screen = self.screen
        assert isinstance(screen, MainScreen)
        return partial(screen.run_command, command)

    def _shown(self, command: Command) -> str:
        assert isinstance(self.screen, MainScreen)
        keys = keys_of(command, self.screen.own_keys)
        return f"{command.title}  ({keys})" if keys else command.title
