"""Unexpected errors: a report file for developers with the place in the code, and a line for the user.

A report has no values of variables in it. An error may quote text from a model, a tool or a file: that text is made
safe to print and cut, and keys are removed.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from types import FrameType

from workbench.config.background import background
from workbench.config.distribution import installed_version
from workbench.config.paths import data_dir
from workbench.config.text import fit_columns, printable, printable_lines
from workbench.config.writing import replace_file

UNEXPECTED = "this should not happen; /report shows it"
"""The title of the line for the user."""
KEPT = 20
"""Reports that are kept; older ones are deleted."""
MOST_TEXT = 40_000
"""Characters of a report. The beginning is cut, because the end says more."""
DEEP = 60
"""Frames of a stack that is too deep: enough to see what calls itself."""
MOST_SHOWN = 160
"""Columns of an error's own message."""


def reports_dir() -> Path:
    return data_dir() / "reports"


def latest_report() -> Path | None:
    """The newest report, or None."""
    return max(reports_dir().glob("*.txt"), default=None, key=lambda path: path.name)


class FaultReports:
    """Writes reports, one for each place in the code: an error while drawing happens again with every frame."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()
        self._lock = Lock()

    def report(self, error: BaseException) -> str:
        """Write a report. Return a line for the user, or an empty string if the error was reported before."""
        if isinstance(error, RecursionError):  # this stack has no room to write anything
            return background(partial(self._report, error, sys._getframe())).result()
        return self._report(error)

    def _report(self, error: BaseException, top: FrameType | None = None) -> str:
        place = _place(error)
        with self._lock:
            known = (type(error).__name__, place) in self._reported
            self._reported.add((type(error).__name__, place))
        if known:
            return ""
        written = _write(error, top)
        error_line = fit_columns(printable(_without_keys(f"{type(error).__name__}: {error}")), MOST_SHOWN)
        where = f"report: {written}" if written else "no report could be written"
        return f"{error_line} ({place}); {where}"


def _place(error: BaseException) -> str:
    """The last line of Workbench's own code in the traceback, or else the last line of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}workbench{os.sep}" in frame.filename]
    last = next(reversed(ours or frames), None)
    return f"{'/'.join(Path(last.filename).parts[-3:])}:{last.lineno}" if last else "no place"


def _write(error: BaseException, top: FrameType | None) -> Path | None:
    import platform  # late: both would be imported before the first frame, and are rarely needed

    now = datetime.now()
    head = f"workbench {installed_version()}, Python {platform.python_version()}, {platform.platform()}\n{now}\n\n"
    lines = traceback.format_exception(error)
    if top is not None:
        lines += ["on top of\n", *traceback.StackSummary.extract(traceback.walk_stack(top), limit=DEEP).format()]
    text = "\n".join(printable_lines(_without_keys("".join(lines))))
    folder = reports_dir()
    path = folder / f"{now:%Y-%m-%d-%H%M%S-%f}-{type(error).__name__}.txt"
    try:
        replace_file(path, f"{head}{text[-MOST_TEXT:]}\n".encode("utf-8", "replace"))
    except OSError:
        return None
    for old in sorted(folder.glob("*.txt"))[:-KEPT]:
        with suppress(OSError):
            old.unlink()
    return path


def _without_keys(text: str) -> str:
    from workbench.models.endpoints import Endpoint, redact  # late: the first frame waits for no models

    return redact(text, Endpoint())
