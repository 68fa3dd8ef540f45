"""The application around the main screen: themes, keys, and a fast first frame.

Importing the panes takes longer than showing a frame, so the import runs in the background after the first frame.
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
from workbench.config.plugins import PROBLEMS
from workbench.config.settings import Settings
from workbench.config.text import printable, printable_lines
from workbench.session.fault_reports import UNEXPECTED, FaultReports
from workbench.sources.options import Detour
from workbench.tui.colours import NoColours, SixteenColours
from workbench.tui.steady_app import SteadyApp
from workbench.tui.terminal_patches import ask_keyboard, guarded_driver
from workbench.tui.textual_patches import patch_textual
from workbench.tui.themes import VARIABLES, ThemeFolder
from workbench.tui.widgets.input_line import FilterField
from workbench.tui.widgets.key_names import key_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.command import Provider
    from textual.driver import Driver

    from workbench.tui.main.screen import MainScreen

DEFAULT = "ink"
"""The default theme."""

GROUNDS = ("cursor", "block-cursor-blurred-background", "input-selection-background", "screen-selection-background")
"""Theme colours that mark a row or a text only by its background."""

WATCH = 2.0
"""Seconds between two checks of the themes folder and of the terminal."""

MOST_WARNINGS = 5
"""The most broken files or keys to report at once: a folder may have thousands."""

LONG = 20.0
"""Seconds that a notice stays if it names a report."""

Load = Callable[[], Callable[[], "MainScreen"]]
"""Imports what the main screen needs, in the background, and returns a function that makes the screen."""


def is_terminal() -> bool:
    """Whether standard input is a terminal that still exists."""
    return sys.__stdin__ is not None and sys.__stdin__.isatty()


def _hits() -> type[Provider]:
    """The palette's provider, imported when the palette first opens."""
    from workbench.tui.commands.palette import CommandHits

    return CommandHits


class OpeningScreen(Screen[None]):
    """The first frame, until the main screen is ready. Keeps what is typed meanwhile."""

    CSS = """
    OpeningScreen { background: $background; color: $quiet; }
    OpeningScreen Static { height: 1; padding: 0 1; }
    OpeningScreen #name { background: $panel; color: $primary; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.typed = ""

    def compose(self) -> ComposeResult:
        """The first two lines, as the main screen has them."""
        yield Static("Workbench", id="name", markup=False)
        yield Static("opening…", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Keep the key for the composer."""
        if event.is_printable and event.character:
            self.typed += event.character


class WorkbenchApp(SteadyApp[WorkbenchError | Detour]):
    """The full screen. Its result is the error that ended it, if any, or the `Detour` to take next."""

    TITLE = "workbench"
    CSS = OpeningScreen.CSS  # Textual does not load the CSS of a default screen
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (140, "-wide")]  # noqa: RUF012 - an instance's own
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - an instance's own
    TINY = 14
    """Columns below which dialogs have neither border nor padding, which would not fit."""
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_hits}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "quit", id="app.quit", show=False, priority=True),
        # For lists, dialogs and windows over the main screen; the main screen has commands for these keys.
        Binding("f1", "show_keys(True)", "the keys of a list, dialog or window", id="app.help", priority=True),
        Binding("question_mark", "show_keys(False)", "the same, where no text is typed", id="app.keys", priority=True),
        Binding("q", "close_screen", "leave it, where no text is typed", id="app.close", priority=True),
        # Otherwise Textual binds a key of its own, which takes precedence over our command's.
        Binding("f20", "command_palette", "command palette", id="app.palette", show=False),
    ]

    _few: SixteenColours | NoColours | None = None
    """The filter for a terminal with few colours, or for a user who wants none."""

    def __init__(self, settings: Settings, load: Load) -> None:
        super().__init__()
        patch_textual()
        self._faults = FaultReports()
        self._refusals: set[str] = set()
        """The refusals that a notice shows at the moment."""
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
        """Textual's driver, with a parser that treats a paste as text."""
        return guarded_driver(super().get_driver_class())

    @property
    def driver(self) -> Driver | None:
        """The driver; None before the first frame."""
        return self._driver

    # Colours

    def _few_colours(self) -> SixteenColours | NoColours | None:
        if self.no_color:
            return NoColours(lambda: Color.parse(self.current_theme.background or "black"))
        return SixteenColours() if self.console.color_system == "standard" else None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Use our filter instead of Textual's shades of grey."""
        found = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        return found if self._few is None else [*found, self._few]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not define them."""
        return VARIABLES

    def get_css_variables(self) -> dict[str, str]:
        """With few colours, use backgrounds that are visible."""
        variables = super().get_css_variables()
        if self._few is not None:
            dark = self.current_theme.dark
            ground = variables["foreground"] if self.no_color else "#0000aa" if dark else "#aaaaaa"
            variables.update(dict.fromkeys(GROUNDS, ground))
        return variables

    def get_default_screen(self) -> Screen[None]:
        return OpeningScreen()

    def on_resize(self, event: events.Resize) -> None:
        """Mark a terminal of a few columns, for the style sheets."""
        self.set_class(event.size.width < self.TINY, "-tiny")

    def on_mount(self) -> None:
        """Load the themes, and report broken ones."""
        asyncio.get_running_loop().set_exception_handler(self._task_failed)
        self._warn("theme", self._problems)
        ask_keyboard(self)
        self.set_interval(WATCH, self._reload_themes)
        if is_terminal():
            self.set_interval(WATCH, self._check_terminal)
        self.call_after_refresh(self._begin)

    @work
    async def _begin(self) -> None:
        """Show the main screen, after the first frame."""
        make = await asyncio.wrap_future(background(self._load))
        self._main = make()
        opening = self.screen
        await self.push_screen(self._main)
        collector_from_here()
        if isinstance(opening, OpeningScreen) and opening.typed:
            self._main.chat.composer.type(opening.typed)
        self.call_after_refresh(self._set_keys, self._main)  # after all panes, and so all bindings, exist

    def _set_keys(self, main: MainScreen) -> None:
        from workbench.tui.commands.keys import checked_keymap

        keys = checked_keymap(self._keys, main)
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
        """Show a notice, never as markup. A warning or an error is named so, because colour alone is not enough."""
        title = title or ("" if severity == "information" else severity)
        message = "\n".join(printable_lines(message))
        super().notify(message, title=printable(title), severity=severity, timeout=timeout, markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text. Lone surrogates, which a file may contain, cannot be sent to a terminal."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))

    # Errors

    def failed(self, error: BaseException) -> None:
        """Report an error and continue; end the program if there is no main screen yet.

        Every error of a worker, a handler, an action or a timer comes here. An error that is meant for the user becomes
        a notice, and no report is written.
        """
        is_for_user = isinstance(error, WorkbenchError)
        message = str(error) if is_for_user else self._faults.report(error)
        if self._main is None:
            self.exit(
                error if isinstance(error, WorkbenchError) else WorkbenchError(f"this should not happen: {message}")
            )
        elif is_for_user:
            self._refuse(message)
        elif message:
            self.notify(message, title=UNEXPECTED, severity="error", timeout=LONG, markup=False)

    def _refuse(self, why: str) -> None:
        """Show a refusal once while its notice is visible: a widget that cannot be drawn fails in every frame."""
        if why not in self._refusals:
            self._refusals.add(why)
            self.notify(why, severity="error")
            self.set_timer(self.NOTIFICATION_TIMEOUT, lambda: self._refusals.discard(why))

    def _task_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), Exception):
            self.failed(context["exception"])

    # Themes

    def _load_themes(self, *, plugins: bool = False) -> list[str]:
        """Register all themes and return their names. A theme whose file is broken stays as it was."""
        loaded = self._folder.load(plugins=plugins)
        self._problems = list(loaded.problems)
        for each in loaded.themes:
            self.register_theme(each)
        return [each.name for each in loaded.themes]

    def _choose_theme(self, wanted: str) -> None:
        names = self._load_themes()
        if wanted and wanted not in names:  # plug-ins are not loaded for their themes unless one is wanted
            names = self._load_themes(plugins=True)
        if wanted and wanted not in names:
            self._problems.append(f"no theme named {wanted!r}; expected one of {', '.join(names)}")
        self.theme = next((name for name in (wanted, DEFAULT) if name in names), self.theme)

    def _reload_themes(self) -> None:
        """Apply a theme at once when its file changes, and report plug-ins that failed since."""
        self._warn("plug-in", PROBLEMS.unseen())
        if self._folder.has_changed():
            self._load_themes()
            self.mutate_reactive(WorkbenchApp.theme)
            self._warn("theme", self._problems)

    # The end

    def end(self) -> None:
        """End the program because of a signal, or because the terminal is gone."""
        if self._ending is None:
            self._ending = asyncio.create_task(self.action_leave())

    def _check_terminal(self) -> None:
        """End the program if the terminal is gone; it may vanish without a signal."""
        if not is_terminal():
            self.end()

    def panic(self, *renderables: RenderableType) -> None:
        """The thread that reads keys has failed, usually because the terminal is gone. That needs no message."""
        if is_terminal():
            super().panic(*renderables)
        else:
            self.end()

    def action_help_quit(self) -> None:
        """On Ctrl+C with nothing to copy or to clear: say how to quit, because many expect it to quit."""
        own = self._main.own_keys.get("quit", "") if self._main is not None else ""
        self.notify(f"{key_name((own or 'ctrl+q').partition(',')[0])} quits", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable these actions on the main screen, which has commands for them, and for letters in a text input."""
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
        """Toggle the list of keys of the top screen. `anywhere`: also in a text input."""
        from workbench.tui.widgets.command import Registry
        from workbench.tui.widgets.help import HelpScreen, keys_in

        screen = self.screen
        if isinstance(screen, HelpScreen):
            screen.dismiss()
            return
        title = str(getattr(screen, "NAME", "") or screen.BINDING_GROUP_TITLE or "this window")
        self.push_screen(HelpScreen(Registry([]), [keys_in(title, screen)], self._main.own_keys if self._main else {}))

    def action_close_screen(self) -> None:
        """Do what Escape does on the top screen."""
        self.simulate_key("escape")

    async def action_leave(self) -> None:
        """End the program from a screen over the main one, or before the main one exists."""
        await self._close()
        self.exit()

    async def on_unmount(self) -> None:
        """Close the session, however the program ends."""
        await self._close()

    async def _close(self) -> None:
        if self._main is not None and self._main.is_mounted:
            await self._main.model.close()
