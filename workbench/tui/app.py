"""The application around the main screen: themes, keys, and a first frame that waits for nothing.

Importing the panes takes longer than showing a frame, so it is done in the background while one is on the screen.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter, Monochrome
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static, TextArea

from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.config.garbage import collector_from_here
from workbench.config.settings import Settings
from workbench.config.text import printable, printable_lines
from workbench.session.fault_reports import UNEXPECTED, FaultReports
from workbench.sources.options import Detour
from workbench.tui.colours import Colourless, Sixteen
from workbench.tui.terminal_patches import ask_keyboard, guard
from workbench.tui.textual_patches import SteadyApp, mend
from workbench.tui.themes import VARIABLES, ThemeFolder
from workbench.tui.widgets.filter_field import FilterField
from workbench.tui.widgets.key_names import key_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.command import Provider
    from textual.driver import Driver

    from workbench.tui.main.screen import MainScreen

DEFAULT = "ink"
"""The theme of those who wish for none."""

GROUNDS = ("cursor", "block-cursor-blurred-background", "input-selection-background", "screen-selection-background")
"""What marks a row or a text by its ground alone."""

WATCH = 2.0
"""Seconds between two looks at the folder of themes, and at the terminal."""

MOST_WARNINGS = 5
"""Files or keys that are told of at once: a folder may hold thousands that are broken."""

LONG = 20.0
"""Seconds that a notice stays which names a report."""

Load = Callable[[], Callable[[], "MainScreen"]]
"""Imports what the main screen needs, in the background; what it gives makes the screen."""


def is_terminal() -> bool:
    """Whether keys come from a terminal that is there."""
    return sys.__stdin__ is not None and sys.__stdin__.isatty()


def _hits() -> type[Provider]:
    """Imported when the palette first opens."""
    from workbench.tui.commands.palette import CommandHits

    return CommandHits


class Opening(Screen[None]):
    """What is seen until the main screen is there. What is typed meanwhile is not lost."""

    CSS = """
    Opening { background: $background; color: $quiet; }
    Opening Static { height: 1; padding: 0 1; }
    Opening #name { background: $panel; color: $primary; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.typed = ""

    def compose(self) -> ComposeResult:
        """The first two lines, as the main screen has them."""
        yield Static("Workbench", id="name", markup=False)
        yield Static("opening…", markup=False)

    def on_key(self, event: events.Key) -> None:
        """For the composer."""
        if event.is_printable and event.character:
            self.typed += event.character


class WorkbenchApp(SteadyApp[WorkbenchError | Detour]):
    """The full screen. Its result is the error that ended it, if one did, or what it ends for."""

    TITLE = "workbench"
    CSS = Opening.CSS  # Textual does not load the sheet of a default screen
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (140, "-wide")]  # noqa: RUF012 - an instance's own
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - an instance's own
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_hits}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "quit", id="app.quit", show=False, priority=True),
        # In each list, dialog and window over the main screen, which has commands for them.
        Binding("f1", "show_keys(True)", "the keys of a list, dialog or window", id="app.help", priority=True),
        Binding("question_mark", "show_keys(False)", "the same, where no text is typed", id="app.keys", priority=True),
        Binding("q", "close_screen", "leave it, where no text is typed", id="app.close", priority=True),
        # Without it Textual binds a key of its own, before that of our command.
        Binding("f20", "command_palette", "command palette", id="app.palette", show=False),
    ]

    _few: Sixteen | Colourless | None = None
    """What translates the colours for a terminal that has few, or for a user who wants none."""

    def __init__(self, settings: Settings, load: Load) -> None:
        super().__init__()
        mend()
        self._faults = FaultReports()
        self._refusals: set[str] = set()
        """Those that a notice shows now."""
        self._load = load
        self._keys = settings.keys
        self._main: MainScreen | None = None
        self._ending: asyncio.Task[None] | None = None
        self._folder = ThemeFolder()
        self._problems: list[str] = []
        self._few = self._few_colours()
        self.set_class(self._few is not None, "-few-colours")
        self._choose_theme(settings.theme)

    def get_driver_class(self) -> type[Driver]:
        """Textual's, with a parser that takes a paste for text."""
        return guard(super().get_driver_class())

    @property
    def driver(self) -> Driver | None:
        """What draws on the terminal; None before the first frame."""
        return self._driver

    # Colours

    def _few_colours(self) -> Sixteen | Colourless | None:
        if self.no_color:
            return Colourless(lambda: Color.parse(self.current_theme.background or "black"))
        return Sixteen() if self.console.color_system == "standard" else None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Ours in place of Textual's shades of grey."""
        found = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return found if self._few is None else [*found, self._few]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The screen's own colours, for themes that do not name them."""
        return VARIABLES

    def get_css_variables(self) -> dict[str, str]:
        """With few colours, grounds that are seen among them."""
        variables = super().get_css_variables()
        if self._few is not None:
            dark = self.current_theme.dark
            ground = variables["foreground"] if self.no_color else "#0000aa" if dark else "#aaaaaa"
            variables.update(dict.fromkeys(GROUNDS, ground))
        return variables

    def get_default_screen(self) -> Screen[None]:
        """Something to look at."""
        return Opening()

    def on_mount(self) -> None:
        """Tell what was wrong with a theme; the program runs all the same."""
        asyncio.get_running_loop().set_exception_handler(self._task_failed)
        self._warn("theme", self._problems)
        ask_keyboard(self)
        self.set_interval(WATCH, self._look_at_themes)
        if is_terminal():
            self.set_interval(WATCH, self._look_at_terminal)
        self.call_after_refresh(self._begin)

    @work
    async def _begin(self) -> None:
        """The main screen, once the first frame is out."""
        make = await asyncio.wrap_future(background(self._load))
        self._main = make()
        opening = self.screen
        await self.push_screen(self._main)
        collector_from_here()
        if isinstance(opening, Opening) and opening.typed:
            self._main.chat.composer.type(opening.typed)
        self.call_after_refresh(self._set_keys, self._main)  # when all panes, and so all bindings, are there

    def _set_keys(self, main: MainScreen) -> None:
        from workbench.tui.commands.keys import keymap

        keys = keymap(self._keys, main)
        self.set_keymap(keys.keymap)
        main.own_keys = keys.keymap
        main.show_hints()
        self._warn("keys", keys.problems)

    def _warn(self, title: str, problems: Sequence[str]) -> None:
        more = len(problems) - MOST_WARNINGS
        for problem in (*problems[:MOST_WARNINGS], *((f"and {more:,} more",) if more > 0 else ())):
            self.notify(problem, title=title, severity="warning", markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A warning or an error says that it is one, since its colour alone does not. No notice is ever markup."""
        title = title or ("" if severity == "information" else severity)
        message = "\n".join(printable_lines(message))
        super().notify(message, title=printable(title), severity=severity, timeout=timeout, markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        """Half of a character, which a file may hold, cannot be sent to a terminal."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))

    # What nobody expected

    def failed(self, error: BaseException) -> None:
        """Tell of it and go on; where there is nothing to go on with, the program ends.

        Every error of a worker, a handler, an action or a timer comes here. One that is meant for the user is a notice
        and needs no report.
        """
        is_for_user = isinstance(error, WorkbenchError)
        said = str(error) if is_for_user else self._faults.report(error)
        if self._main is None:
            self.exit(error if isinstance(error, WorkbenchError) else WorkbenchError(f"this should not happen: {said}"))
        elif is_for_user:
            self._refuse(said)
        elif said:
            self.notify(said, title=UNEXPECTED, severity="error", timeout=LONG, markup=False)

    def _refuse(self, why: str) -> None:
        """Once while the notice is there: a widget that cannot be drawn says so with every frame."""
        if why not in self._refusals:
            self._refusals.add(why)
            self.notify(why, severity="error")
            self.set_timer(self.NOTIFICATION_TIMEOUT, lambda: self._refusals.discard(why))

    def _task_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), Exception):
            self.failed(context["exception"])

    # Themes

    def _load_themes(self) -> list[str]:
        """Register all there are; the result is their names. One that broke stays as it was."""
        loaded = self._folder.load()
        self._problems = list(loaded.problems)
        for each in loaded.themes:
            self.register_theme(each)
        return [each.name for each in loaded.themes]

    def _choose_theme(self, wanted: str) -> None:
        names = self._load_themes()
        if wanted and wanted not in names:
            self._problems.append(f"no theme named {wanted!r}; expected one of {', '.join(names)}")
        self.theme = next((name for name in (wanted, DEFAULT) if name in names), self.theme)

    def _look_at_themes(self) -> None:
        """A theme that was changed on the disk shows at once."""
        if self._folder.changed():
            self._load_themes()
            self.mutate_reactive(WorkbenchApp.theme)
            self._warn("theme", self._problems)

    # The end

    def end(self) -> None:
        """From outside, whatever goes on: a signal, or a terminal that is gone."""
        if self._ending is None:
            self._ending = asyncio.create_task(self.action_leave())

    def _look_at_terminal(self) -> None:
        """A terminal that is gone without a signal would leave the program running, unseen, for ever."""
        if not is_terminal():
            self.end()

    def panic(self, *renderables: RenderableType) -> None:
        """What reads the keys has ended: mostly because the terminal did, which is nothing to tell anybody."""
        if is_terminal():
            super().panic(*renderables)
        else:
            self.end()

    def action_help_quit(self) -> None:
        """Ctrl+C, where there is nothing to copy or to clear: many expect it to end the program."""
        own = self._main.own_keys.get("quit", "") if self._main is not None else ""
        self.notify(f"{key_name((own or 'ctrl+q').partition(',')[0])} quits", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """On the main screen commands do it, whatever their keys are; where text is typed, letters are text."""
        match action:
            case "leave":
                return self.screen is not self._main
            case "show_keys" | "close_screen":
                screen = self.screen
                if not isinstance(screen, ModalScreen) or not type(screen).__module__.startswith("workbench."):
                    return False
                typed = screen.focused
                if parameters == (True,):
                    return True
                if isinstance(typed, Input):
                    return isinstance(typed, FilterField) and action == "show_keys" and not typed.value
                return not isinstance(typed, TextArea) or typed.read_only
            case _:
                return True

    def action_show_keys(self, anywhere: bool) -> None:
        """Those of the screen on top; again: leave them. `anywhere`: also where text is typed."""
        from workbench.tui.widgets.command import Registry
        from workbench.tui.widgets.help import Help, keys_in

        screen = self.screen
        if isinstance(screen, Help):
            screen.dismiss()
            return
        title = str(getattr(screen, "NAME", "") or screen.BINDING_GROUP_TITLE or "this window")
        self.push_screen(Help(Registry([]), [keys_in(title, screen)], self._main.own_keys if self._main else {}))

    def action_close_screen(self) -> None:
        """Whatever Escape means there."""
        self.simulate_key("escape")

    async def action_leave(self) -> None:
        """End the program from a screen that lies over the main one, or before that is there."""
        await self._close()
        self.exit()

    async def on_unmount(self) -> None:
        """However it ends, what came is kept."""
        await self._close()

    async def _close(self) -> None:
        if self._main is not None and self._main.is_mounted:
            await self._main.model.close()
