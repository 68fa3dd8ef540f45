"""The user's options of this call. The command line and the screen make them; nothing below knows how."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from workbench.config.terminal_alerts import AlertWay


class Options(Struct, frozen=True, kw_only=True):
    """Empty values: the session decides, then the settings, then the defaults."""

    model: str = ""
    policy: str = ""
    """A name, or the path of a file."""
    knobs: tuple[str, ...] = ()
    """As `masking.keep_last=3`."""
    window: int | None = None
    reserve: int | None = None
    api_base: str = ""
    """The address of the user's own server, for the session's own model and no other."""
    fallbacks: tuple[str, ...] = ()
    """Models to ask if the one before cannot answer; empty: the configured ones."""
    allow: tuple[str, ...] = ()
    """Patterns of tool calls that are allowed without asking, as `run_command:git status`."""
    without: tuple[str, ...] = ()
    """Patterns of tools that are not offered, as `notes__*`."""

    follow: bool = False
    """Whether a file is read again while another program writes it; an unfinished last line is left out."""

    follow_active: bool = False
    """Whether the screen changes over to whichever session of the folder changed last."""

    notify: tuple[AlertWay, ...] | None = None
    """How the screen draws attention to what happens; None: as the settings say."""
    lanes: bool = False
    """Whether the screen begins with the list of all running agents."""

    @property
    def for_any_session(self) -> Options:
        """The options for whatever is opened later: model and policy were meant for the first source."""
        return Options(window=self.window, reserve=self.reserve)

    @property
    def for_any_model(self) -> Options:
        """The options for a fallback model: window, reserve and address were meant for the session's own model."""
        return Options(policy=self.policy, knobs=self.knobs)


class Detour(NamedTuple):
    """A screen that ends and is opened again after the demo."""

    back: str
    """What to open then; empty: this folder's last session."""
