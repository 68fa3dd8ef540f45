"""A session whose state a test sets, for panes without a program around them."""

from __future__ import annotations

from typing import Any, Protocol, Unpack, cast

from workbench.config.values import replace
from workbench.session.observable import ObservableSession, SessionChanges


class SetSession(ObservableSession):
    """A session whose changes are observed at once."""

    def __init__(self, **changes: Unpack[SessionChanges]) -> None:
        super().__init__(cast(Any, None))
        self.change_state(**changes)

    def change_state(self, **changes: Unpack[SessionChanges]) -> None:
        before, self.state = self.state, replace(self.state, **changes)
        self._notify(before, self.state)


class HasSession(Protocol):
    session: ObservableSession


class StateField:
    """A field of the session's state as an attribute of an app: to be read and set."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, app: HasSession | None, owner: type) -> Any:
        return self if app is None else getattr(app.session.state, self._name)

    def __set__(self, app: HasSession, value: Any) -> None:
        app.session.change_state(**cast(SessionChanges, {self._name: value}))
