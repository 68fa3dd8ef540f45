"""How widgets observe the session model.

A widget that shows a part of the session derives from `Observing` and declares which:

    class TokenLine(Observing, Widget):
        status = observed(lambda session: session.status)

        def render(self) -> str:
            return f"{self.status.tokens:,} tokens"

An observed attribute works like one of Textual's `reactive`s: `watch_status(old, new)` is called when its value changes
and once after the widget is mounted, then the widget is drawn again. But the widget keeps no copy. The attribute reads
`ObservableSession.state`, so two widgets never disagree, and cannot be set. Changes arrive in Textual's loop, at most
once a frame, parents before their children. A removed widget is no longer called or kept alive.

Textual's own mechanisms do not fit: `data_bind` copies values from widget to widget; a `Signal` belongs to a widget,
swallows the errors of its subscribers, and does not know the previous value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from textual.reactive import invoke_watcher

from workbench.session.observable import ObservableSession, SessionState, Unsubscribe
from workbench.tui.steady_app import is_leaving

if TYPE_CHECKING:
    from textual.widget import Widget as _Widget
else:
    _Widget = object  # a widget as a base would hide attributes of the other base, such as `can_focus`

T = TypeVar("T")


class observed(Generic[T]):  # noqa: N801 - used like Textual's `reactive`
    """A value of the session, as an attribute of an `Observing` widget."""

    def __init__(self, select: Callable[[SessionState], T], *, repaint: bool = True, layout: bool = False) -> None:
        """`repaint` and `layout`: what to do after the watcher was called, as in `reactive`."""
        self.select = select
        self.repaint = repaint
        self.layout = layout
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, widget: None, owner: type) -> observed[T]: ...

    @overload
    def __get__(self, widget: Observing, owner: type) -> T: ...

    def __get__(self, widget: Observing | None, owner: type) -> observed[T] | T:
        return self if widget is None else self.select(widget.session.state)

    def __set__(self, widget: Observing, value: NoReturn) -> NoReturn:
        raise AttributeError(f"{self.name} belongs to the session: put it there")

    def show(self, widget: Observing, before: SessionState, after: SessionState) -> None:
        """Call the widget's watcher, if it has one, and draw the widget again."""
        watcher = getattr(widget, f"watch_{self.name}", None)
        if watcher is not None:
            invoke_watcher(widget, watcher, self.select(before), self.select(after))
        if self.repaint or self.layout:
            widget.refresh(repaint=self.repaint, layout=self.layout)

    def differs(self, before: SessionState, after: SessionState) -> bool:
        """Whether the value has changed. Most values are the same object, which is a fast check."""
        old, new = self.select(before), self.select(after)
        return old is not new and old != new


@cache
def observed_by(widget: type[Observing]) -> tuple[observed[Any], ...]:
    """The observed attributes of a class, those of its bases first."""
    members = {name: each for base in reversed(widget.__mro__) for name, each in vars(base).items()}
    return tuple(each for each in members.values() if isinstance(each, observed))


class Observing(_Widget):
    """A widget that shows a session. Must come before the widget class among the bases."""

    def __init__(self, session: ObservableSession, *args: Any, **kwargs: Any) -> None:
        """`session`: read by the observed attributes; everything else is for the widget class."""
        self.session = session
        self._unsubscribe_session: Unsubscribe | None = None
        self._shows_session = False
        super().__init__(*args, **kwargs)

    def on_compose(self) -> None:
        """Subscribe before the children do, so that a parent is called first."""
        self._unsubscribe_session = self.session.observe(self._session_changed)

    def on_mount(self) -> None:
        """Show the current state, now that the children exist."""
        self._shows_session = True
        state = self.session.state
        for each in observed_by(type(self)):
            each.show(self, state, state)

    def on_unmount(self) -> None:
        """Unsubscribe."""
        if self._unsubscribe_session is not None:
            self._unsubscribe_session()

    def _session_changed(self, before: SessionState, after: SessionState) -> None:
        """Update the observed attributes, unless the widget is being removed."""
        if self._shows_session and self.is_running and not is_leaving(self):
            for each in observed_by(type(self)):
                if each.differs(before, after):
                    each.show(self, before, after)
