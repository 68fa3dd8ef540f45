"""Plug-ins: what the program can be extended with, its own parts and those of installed packages in one registry.

A registry has one kind of thing: formats, dialects, agents and so on. Our own are registered when their module is
imported; those of other packages are loaded when somebody asks for them, each on its own, so that one that is broken is
named and left out while the rest works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any, Generic, NamedTuple, TypeVar

from workbench.config.errors import WorkbenchError
from workbench.config.plugin_entries import PluginEntry, installed_entries
from workbench.config.text import printable

T = TypeVar("T")
R = TypeVar("R")
FAULTS = (Exception, SystemExit)
"""What foreign code may raise without ending the program."""
_MOST = 5
"""Problems of one plug-in that are remembered: one that fails at every item would fill the screen."""
_LONGEST = 300
"""Characters of a foreign error that are shown."""


class PluginProblem(NamedTuple):
    """A plug-in that does not work."""

    entry: PluginEntry
    message: str

    def __str__(self) -> str:
        return f"plug-in {self.entry}: {self.message}"


class PluginProblems:
    """All problems of plug-ins in this process, each once. Threads may share it."""

    def __init__(self) -> None:
        self._found: dict[PluginProblem, None] = {}
        self._shown = 0
        self._lock = RLock()

    def note_problem(self, entry: PluginEntry, message: str) -> None:
        """Remember a problem. Of one plug-in the same problem is remembered once, and only the first few."""
        problem = PluginProblem(entry, printable(message, _LONGEST))
        with self._lock:
            if sum(each.entry == entry for each in self._found) < _MOST:
                self._found.setdefault(problem)

    def listed(self) -> tuple[PluginProblem, ...]:
        with self._lock:
            return tuple(self._found)

    def unseen(self) -> list[str]:
        """Those that were not returned here before, a line each."""
        with self._lock:
            fresh = list(self._found)[self._shown :]
            self._shown = len(self._found)
        return [str(each) for each in fresh]


PROBLEMS = PluginProblems()


def fault_words(error: BaseException) -> str:
    """What a plug-in raised, in one line."""
    return str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}".rstrip(": ")


class PluginRegistry(Generic[T]):
    """The things of one kind by name, our own first. Threads may share it."""

    def __init__(self, group: str, check: Callable[[str, Any], T]) -> None:
        """`check` gets a name and what was registered under it, and returns the thing itself.

        It raises TypeError, ValueError or a WorkbenchError that says what was expected.
        """
        self.group = group
        self._check = check
        self._own: dict[str, T] = {}
        self._entries: tuple[PluginEntry, ...] | None = None
        self._loaded: dict[str, tuple[PluginEntry, T]] = {}
        self._lock = RLock()

    def register(self, name: str, value: Any) -> None:
        """Add one of our own. It passes the same checks, and a mistake is raised at once."""
        thing = self._check(name, value)
        key = _name_of(name, thing)
        if key in self._own:
            raise ValueError(f"two {self.group} are called {key}")
        self._own[key] = thing

    @property
    def own(self) -> Mapping[str, T]:
        """Our own, in the order in which they were registered."""
        return self._own

    def plugins(self) -> Mapping[str, T]:
        """Those of other packages. They are loaded at the first call; what cannot be loaded is left out and noted."""
        return {name: thing for name, (_, thing) in self._load().items()}

    def entries(self) -> Mapping[str, PluginEntry]:
        """By name: where each of those comes from."""
        return {name: entry for name, (entry, _) in self._load().items()}

    def __iter__(self) -> Iterator[T]:
        yield from self._own.values()
        yield from self.plugins().values()

    def find_named(self, name: str) -> T | None:
        """The thing with a name; None if there is none. Ours are found without loading anything."""
        if name in self._own:
            return self._own[name]
        found = self._load().get(name)
        return None if found is None else found[1]

    def guarded(self, name: str, action: Callable[[], R], otherwise: R) -> R:
        """What the action of a thing returns. If it is a plug-in's and raises, that is noted, and `otherwise` is used.

        A WorkbenchError is meant for the user and is raised, and so is whatever our own things raise.
        """
        entry = None if name in self._own else self._load().get(name, (None,))[0]
        if entry is None:
            return action()
        try:
            return action()
        except WorkbenchError:
            raise
        except FAULTS as error:
            PROBLEMS.note_problem(entry, f"raised {fault_words(error)}")
            return otherwise

    def _load(self) -> Mapping[str, tuple[PluginEntry, T]]:
        entries = installed_entries(self.group)
        with self._lock:
            if entries is self._entries or entries == self._entries:
                return self._loaded
            loaded: dict[str, tuple[PluginEntry, T]] = {}
            self._entries = entries  # set first: a plug-in that asks for plug-ins while it is loaded gets none
            for entry in entries:
                try:
                    thing = self._check(entry.name, entry.load())
                    name = self._free_name(entry, thing, loaded)
                except FAULTS as error:
                    PROBLEMS.note_problem(entry, fault_words(error))
                else:
                    loaded[name] = entry, thing
            self._loaded = loaded
        return self._loaded

    def _free_name(self, entry: PluginEntry, thing: T, loaded: Mapping[str, tuple[PluginEntry, T]]) -> str:
        name = _name_of(entry.name, thing)
        if not name.strip() or printable(name) != name:
            raise ValueError(f"expected a name that can be shown, got {name!r}")
        if name in self._own:
            raise ValueError(f"{name}: one of Workbench's own {self.group} has this name; expected another one")
        if name in loaded:
            raise ValueError(f"{name}: {loaded[name][0].distribution} has one of this name, too")
        return name


def _name_of(name: str, thing: object) -> str:
    """A thing's own name, if it has one; else the one under which it was registered."""
    own = getattr(thing, "name", None)
    return own if isinstance(own, str) else name
