"""The log of a context as a session of the store, which the program can show."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from workbench.config.errors import Refused, WrongCall
from workbench.config.folders import WorkFolder
from workbench.context.setup import Setup
from workbench.library.setups import ChosenPolicy
from workbench.log.events import Body, Event, Setting
from workbench.log.learnt_windows import LearntWindow, window_setting
from workbench.log.migrations import is_our_file
from workbench.log.session import Session
from workbench.log.store import Store


class StoredLog:
    """A session of a store, continued if it exists."""

    def __init__(self, store: str | os.PathLike[str]) -> None:
        """`store`: the title or whole id of a session in the program's own store; or a path, for a file of its own.

        Of several sessions with the title, such as forks, the oldest is continued.
        """
        if not isinstance(store, str | os.PathLike) or not os.fspath(store):
            raise WrongCall(f"store: expected the title of a session or a path, got {store!r}")
        self._process = os.getpid()
        name = os.fspath(store)
        is_path = not isinstance(store, str) or os.sep in name or name.endswith(".db")
        self._store = Store.open(Path(name)) if is_path else Store.open()
        try:
            self.session = self._open(Path(name).stem if is_path else name)
        except BaseException:
            self._store.close()
            raise

    def _open(self, title: str) -> Session:
        name = self._store.id_of(title)
        if name is None:
            return self._store.create(title=title, folder=WorkFolder(os.getcwd()))
        found = self._store.session(name)
        if not found.writable:
            raise Refused(found.why_read_only)
        return found

    def append(self, *bodies: Body) -> tuple[Event, ...]:
        """Append events; they are on disk when this returns."""
        if os.getpid() != self._process:
            raise Refused("this context belongs to the process that made it; a forked one needs a context of its own")
        return self.session.append(*bodies)

    def close(self) -> None:
        """Let others write the session."""
        self._store.close()


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file of sessions that a context or the program made."""
    try:
        return is_our_file(Path(os.path.realpath(path)))  # where SQLite has its other files, too
    except (sqlite3.Error, OSError, ValueError):
        return False


def settings_of(setup: Setup, chosen: ChosenPolicy, window: int | None) -> list[Body]:
    """The settings that make the program plan a stored session as the library does."""
    said: list[Body] = [
        Setting("model", setup.model),
        Setting("policy", chosen.name),
        Setting("knobs", list(chosen.sets)),
    ]
    return [*said, window_setting(setup.model, LearntWindow(window, "option"))] if window else said


def changed_settings(wanted: list[Body], events: list[Event]) -> list[Body]:
    """Those of the settings that a log does not have yet."""
    last: dict[str, Any] = {event.body.key: event.body for event in events if isinstance(event.body, Setting)}
    return [body for body in wanted if isinstance(body, Setting) and last.get(body.key) != body]
