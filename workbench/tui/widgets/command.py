"""The registry of commands. Keys, palette, slash commands and the help are made from it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from msgspec import Struct
from textual.binding import Binding

from workbench.config.errors import WrongCall
from workbench.config.text import whole_number
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.views.values import FILE

Function = Callable[[MainScreenApi, str], Awaitable[None] | None]
"""Called with the argument as typed, without blanks around it."""
Group = Literal["conversation", "context", "compaction", "session", "view", "program"]
GROUPS: tuple[Group, ...] = get_args(Group)

MOST_COMPLETIONS = 50
_SLASH = re.compile(r"/([a-z][a-z-]*)(?:\s+(.*))?", re.DOTALL)
"""A slash, a name, an optional argument. `/etc/passwd` and `/ a` are not commands, but may begin a message."""


class Command(Struct, frozen=True):
    """A command, which the user can run by key, letter, palette or slash."""

    name: str
    """Also the id of its binding, for own keys in the config."""
    title: str
    """A few words, for the palette."""
    help: str
    """A sentence without its full stop."""
    group: Group
    run: Function
    keys: tuple[str, ...] = ()
    """Keys that work everywhere, also in text inputs."""
    letters: tuple[str, ...] = ()
    """Keys that work in every pane, except in text inputs."""
    slashes: tuple[str, ...] = ()
    """Slash commands without the slash; the first one is shown. Empty: none."""
    argument: str = ""
    """The argument of the slash command, as in `[NAME]`; required if it has no brackets."""
    arguments: Callable[[], Iterable[str]] | None = None
    """The possible arguments, for completion."""
    why_not: Callable[[MainScreenApi], str] | None = None
    """Why it cannot run now; empty if it can."""
    once: bool = False
    """Whether it is not started again while it runs, because it costs something or opens a screen of its own."""

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


class Completion(NamedTuple):
    """A completion of a slash command."""

    text: str
    """The completed text of the composer."""
    label: str
    help: str
    is_whole: bool = False
    """Whether it is complete and can be run."""


def read_only(host: MainScreenApi) -> str:
    """Why nothing can be changed: the `why_not` of commands that change the session."""
    return host.model.state.read_only


def read_only_session(host: MainScreenApi) -> str:
    """The same for a command that makes a session of a file only once it has seen that it has something to do."""
    why = host.model.state.read_only
    return "" if why == FILE else why


def event_number(argument: str) -> int:
    """The argument of a command that asks for an event."""
    if not argument.isdecimal():
        raise WrongCall(f"{argument}: expected the number of an event")
    return whole_number(argument)


class Commands:
    """The commands of one module, registered by a decorator."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._made: list[Command] = []

    def register(
        self,
        name: str,
        title: str,
        text: str,
        *,
        keys: tuple[str, ...] = (),
        letters: tuple[str, ...] = (),
        slashes: tuple[str, ...] | None = None,
        argument: str = "",
        arguments: Callable[[], Iterable[str]] | None = None,
        why_not: Callable[[MainScreenApi], str] | None = None,
        once: bool = False,
    ) -> Callable[[Function], Function]:
        """Register a function; `text` is its help. Its name is also its slash command, unless `slashes` is given."""
        shown = (name,) if slashes is None else slashes

        def register(run: Function) -> Function:
            made = Command(
                name, title, text, self._group, run, keys, letters, shown, argument, arguments, why_not, once
            )
            self._made.append(made)
            return run

        return register

    def __iter__(self) -> Iterator[Command]:
        return iter(self._made)


class Registry:
    """All commands."""

    def __init__(self, modules: Iterable[Iterable[Command]]) -> None:
        self.commands = tuple(command for module in modules for command in module)
        self._by_name = {command.name: command for command in self.commands}
        self._by_slash = {slash: command for command in self.commands for slash in command.slashes}
        slashes = sum(len(command.slashes) for command in self.commands)
        if len(self._by_name) < len(self.commands) or len(self._by_slash) < slashes:
            raise ValueError("two commands have one name")

    def __getitem__(self, name: str) -> Command:
        return self._by_name[name]

    def grouped(self) -> Iterator[tuple[Group, list[Command]]]:
        """The commands by group, for the help."""
        for group in GROUPS:
            found = [command for command in self.commands if command.group == group]
            if found:
                yield group, found

    def bindings(self) -> list[Binding]:
        """A binding for each command. They have priority over text inputs, except for letters.

        A command without a key gets one that no keyboard sends, so that the user can remap it.
        """
        letters = [
            Binding(
                ",".join(command.letters),
                f"letter('{command.name}')",
                command.title,
                id=f"letter.{command.name}",
                show=False,
            )
            for command in self.commands
            if command.letters
        ]
        return [*letters, *self._keys()]

    def _keys(self) -> list[Binding]:
        return [
            Binding(
                ",".join(command.keys) or f"unset_{command.name}",
                f"command('{command.name}')",
                command.title,
                id=command.name,
                show=False,
                # Escape and plain keys belong to the focused widget first.
                priority="escape" not in command.keys,
            )
            for command in self.commands
        ]

    def parse(self, text: str) -> tuple[Command, str] | None:
        """The command in a text, with its argument; None if it is a message. Raises WrongCall."""
        found = _SLASH.fullmatch(text.strip())
        if found is None:
            return None
        name, argument = found[1], (found[2] or "").strip()
        command = self._by_slash.get(name)
        if command is None:
            near = difflib.get_close_matches(name, self._by_slash, n=1, cutoff=0.5)
            hint = f"did you mean /{near[0]}?" if near else "/help lists them"
            raise WrongCall(f"/{name}: no such command; {hint}")
        if argument and not command.argument:
            raise WrongCall(f"/{name}: expected nothing behind it, got {argument[:40]!r}")
        if command.needs_argument and not argument:
            raise WrongCall(f"/{name}: expected {command.argument}")
        return command, argument

    def complete(self, text: str) -> list[Completion]:
        """The completions of a text that starts with a slash; empty for any other."""
        if not text.startswith("/") or "\n" in text:
            return []
        name, blank, rest = text[1:].partition(" ")
        if blank:
            return self._complete_argument(name, rest.strip())
        found = []
        for command in self.commands:
            slash = next((slash for slash in command.slashes if slash.startswith(name)), None)
            if slash is not None:
                hint = f"/{slash} {command.argument}".rstrip()
                whole = not command.argument
                found.append(Completion(f"/{slash}" if whole else f"/{slash} ", hint, command.help, whole))
        return sorted(found, key=lambda completion: completion.text)

    def _complete_argument(self, name: str, begun: str) -> list[Completion]:
        command = self._by_slash.get(name)
        if command is None or command.arguments is None:
            return []
        offered = list(command.arguments())
        first = [each for each in offered if each.startswith(begun)]
        inside = [each for each in offered if begun.lower() in each.lower() and not each.startswith(begun)]
        return [Completion(f"/{name} {each}", each, "") for each in [*first, *inside][:MOST_COMPLETIONS]]
