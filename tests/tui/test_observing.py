"""The one mechanism from the session to the screen: when a widget is called, and that panes use no other way."""

from __future__ import annotations

import ast
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

import workbench.tui
from support.session_state import SetSession
from tui.small_app import SmallApp
from workbench.session.observable import ObservableSession, SessionState
from workbench.tui.commands.registry import WorkbenchScreen
from workbench.tui.observing import Observing, observed, observed_by
from workbench.tui.screens import continuing

FOLDER = Path(workbench.tui.__file__).parent
PANES = ("chat", "compaction", "inspector", "main")
"""The folders of the panes, and of the screen around them."""
SUBSCRIBERS = ("observing.py", "main/session_panes.py")
"""The mechanism itself, and the screen, which listens to notices."""
VALUES = frozenset(
    (
        "Activity",
        "CompactionView",
        "ContextView",
        "DraftCost",
        "LiveAnswer",
        "Status",
        "Transcript",
        "UserQuestion",
        "Welcome",
    )
)
"""The types of what is observed."""


class TitleLine(Observing, Widget):
    """What a new pane looks like, with a note of each call."""

    title = observed(lambda session: session.title)

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self.seen: list[tuple[str, str]] = []

    def watch_title(self, old: str, new: str) -> None:
        self.seen.append((old, new))

    def render(self) -> str:
        return self.title


class Box(Observing, Vertical):
    """A line in a line, which removes it when the title says so."""

    title = observed(lambda session: session.title)

    def compose(self) -> ComposeResult:
        yield TitleLine(self.session)

    def watch_title(self, title: str) -> None:
        self.query(TitleLine).remove() if title == "remove" else None


class Host(SmallApp):
    def __init__(self, *widgets: type[Observing]) -> None:
        super().__init__()
        self.session = SetSession(title="first")
        self._widgets = widgets

    def compose(self) -> ComposeResult:
        for each in self._widgets:
            yield each(self.session)


async def test_a_widget_shows_the_state_when_it_is_mounted_and_after_each_change() -> None:
    app = Host(TitleLine)
    async with app.run_test() as pilot:
        line = app.query_one(TitleLine)
        assert line.seen == [("first", "first")]
        app.session.change_state(title="second")
        assert (line.title, line.seen[1:]) == ("second", [("first", "second")])
        app.session.change_state(title="second", folder="~/elsewhere")
        assert len(line.seen) == 2, "nothing that it shows has changed"
        late = TitleLine(app.session)
        await app.mount(late)
        assert late.seen == [("second", "second")]
        app.session.change_state(title="third")
        await pilot.pause()
        assert {str(each.render()) for each in (line, late)} == {"third"}


async def test_a_value_of_the_session_cannot_be_set_on_a_widget() -> None:
    line = TitleLine(SetSession(title="first"))
    with pytest.raises(AttributeError, match="belongs to the session"):
        line.title = "mine"  # type: ignore[assignment]  # mypy refuses it, too
    assert line.title == "first"


async def test_a_widget_that_is_removed_while_others_are_called_is_left_alone() -> None:
    app = Host(Box, TitleLine)
    async with app.run_test() as pilot:
        inner, outer = app.query_one(Box).query_one(TitleLine), app.query(TitleLine).last()
        app.session.change_state(title="remove")
        assert ("first", "remove") not in inner.seen, "its parent was called first and has removed it"
        assert outer.seen[-1] == ("first", "remove")
        await pilot.pause()
        assert not inner.is_attached
        app.session.change_state(title="later")
        assert (inner.seen, outer.seen[-1]) == ([("first", "first")], ("remove", "later"))


async def test_a_widget_that_was_removed_is_not_kept_alive() -> None:
    app = Host(Box)
    async with app.run_test():
        assert len(app.session._observers) == 2
        await app.query(Box).remove()
        assert not app.session._observers
    line = TitleLine(app.session)  # without an app, whose caches remember widgets that were removed
    line.on_compose()
    gone = weakref.ref(line)
    line.on_unmount()
    del line
    gc.collect()
    assert gone() is None


# That there is no other way


def observing_classes(base: type[Any] = Observing) -> Iterator[type[Observing]]:
    """Those of the program."""
    for each in base.__subclasses__():
        if each.__module__.startswith("workbench."):
            yield each
        yield from observing_classes(each)


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(FOLDER.rglob("*.py")):
        yield str(path.relative_to(FOLDER)), ast.parse(path.read_text())


def names_in(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def other_ways(path: str, tree: ast.Module) -> Iterator[str]:
    """What a module does to have a value of the session by another way than `observed`."""
    state = set(SessionState.__struct_fields__)
    for node in ast.walk(tree):
        line = f"{path}:{getattr(node, 'lineno', 0)}"
        match node:
            case ast.AnnAssign(annotation=type_, value=ast.Call() as call) if called(call) in ("reactive", "var"):
                if names_in(type_) & VALUES:
                    yield f"{line}: a reactive that copies a value of the session"
            case ast.Call() if called(node) == "data_bind":
                bound = {name for each in node.args for name in names_in(each)} | {each.arg for each in node.keywords}
                if bound & state:
                    yield f"{line}: a value of the session passed from widget to widget"
            case ast.Call() if called(node) in ("observe", "listen") and path not in SUBSCRIBERS:
                yield f"{line}: a subscription of its own"
            case ast.Attribute(attr="state") if names_in(node.value) & {"session", "model"}:
                if path.split("/")[0] in PANES and path != "main/screen.py":
                    yield f"{line}: the state read without observing it"


def test_no_pane_takes_a_value_of_the_session_by_another_way() -> None:
    ways = [found for path, tree in sources() for found in other_ways(path, tree)]
    assert ways == [], "declare it with `observed` (workbench/tui/observing.py)"


@pytest.mark.parametrize(
    "code",
    [
        "class Pane(Widget):\n    shown: reactive[ContextView | None] = reactive(None)",
        "class Pane(Widget):\n    asked: var[UserQuestion | None] = var(None)",
        "RowList().data_bind(InspectorPane.shown)",
        "Composer().data_bind(refusal=ChatPane.why_not)",
        "session.observe(self._changed)",
        "self._host.model.state.compaction",
    ],
)
def test_each_other_way_is_noticed(code: str) -> None:
    assert list(other_ways("inspector/new_pane.py", ast.parse(code)))


def test_every_watcher_is_that_of_an_attribute() -> None:
    """A misspelled `watch_` method would never be called."""
    assert issubclass(WorkbenchScreen, Observing)
    assert issubclass(continuing.ContinueScreen, Observing)
    classes = set(observing_classes())
    assert len(classes) > 20
    for each in classes:
        watched = {name.removeprefix("watch_") for name in vars(each) if name.startswith("watch_")}
        assert watched <= {found.name for found in observed_by(each)} | set(each._reactives), each
