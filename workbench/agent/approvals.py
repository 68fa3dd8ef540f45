"""Who may do what: reading is free, writing and running need approval, and an answer can hold for more than one call.

"Always" and "never" answers are stored as patterns in `approvals.toml` in the config folder. "Never" wins over
everything; "always", the session's answers and `--allow` are equal.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, structs

from workbench.agent.approval_patterns import (
    advised_pattern,
    check_pattern,
    exact_pattern,
    is_prefix_pattern,
    needs_shell,
    pattern_allows,
    pattern_forbids,
    suggested_patterns,
)
from workbench.agent.tools.base import ProposedCall
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.foreign_files import read_small_text
from workbench.config.paths import config_dir
from workbench.config.tables import Table, read_table, read_toml
from workbench.config.writing import make_private_folder, replace_file
from workbench.log.lock import locked_folder

FILE_NAME = "approvals.toml"
LOCK_SECONDS = 10.0
_HEAD = "# Written by Workbench: what tools may do without asking, and what they may never do.\n"

Decision = Literal["allow", "ask", "deny"]
Choice = Literal["once", "session", "always", "no", "never"]


class ApprovalAnswer(NamedTuple):
    """The user's answer. "no" refuses only this call."""

    choice: Choice
    pattern: str = ""
    """The calls that a session, always or never answer applies to. Empty: only this call."""


class ApprovalQuestion(NamedTuple):
    call: ProposedCall
    patterns: tuple[str, ...]
    """The patterns that an answer may apply to, the narrowest first."""


Ask = Callable[[ApprovalQuestion], Awaitable[ApprovalAnswer]]


_Patterns = Annotated[tuple[str, ...], Meta(description="a list of patterns")]


class SavedApprovals(Table, frozen=True):
    """The content of the file."""

    always: _Patterns = ()
    never: _Patterns = ()


class Approvals:
    """The user's answers, from earlier sessions and from this one."""

    def __init__(
        self, saved: SavedApprovals | None = None, *, allow: Iterable[str] = (), path: Path | None = None
    ) -> None:
        """`allow`: patterns for this run only. `path`: where answers are saved; None: they are not saved."""
        saved = saved or SavedApprovals()
        self._always = list(saved.always)
        self._never = list(saved.never)
        self._session = [check_pattern(pattern, "--allow") for pattern in allow]
        self._path = path
        self._asking = asyncio.Lock()
        self.problems: list[str] = []
        """Answers that could not be saved, one line each. They still hold for this session."""

    @classmethod
    def load(cls, *, allow: Iterable[str] = (), path: Path | None = None) -> Approvals:
        """Return the approvals of the user's file. Raises WrongCall that names what is wrong with it."""
        place = config_dir() / FILE_NAME if path is None else path
        return cls(load_saved(place), allow=allow, path=place)

    def decision_for(self, call: ProposedCall) -> Decision:
        """Whether a call may run, without asking the user."""
        if call.problem or any(pattern_forbids(pattern, call) for pattern in self._never):
            return "deny"
        if call.kind == "read" or any(pattern_allows(pattern, call) for pattern in (*self._always, *self._session)):
            return "allow"
        return "ask"

    def runs_plain(self, call: ProposedCall) -> bool:
        """Whether a call is allowed by prefix patterns only. Such a command is started without a shell."""
        found = [pattern for pattern in (*self._always, *self._session) if pattern_allows(pattern, call)]
        return bool(found) and all(map(is_prefix_pattern, found))

    async def approve(self, call: ProposedCall, ask: Ask | None) -> bool:
        """Whether a call may run. Asks the user if needed; without `ask`, only calls already allowed may run."""
        decision = self.decision_for(call)
        if decision != "ask" or ask is None:
            return decision == "allow"
        async with self._asking:  # one question at a time
            decision = self.decision_for(call)  # the answer to another question may have decided it
            if decision == "ask":
                answer = await ask(ApprovalQuestion(call, suggested_patterns(call)))
                self._remember(call, answer)
                return answer.choice in ("once", "session", "always")
            return decision == "allow"

    def refusal(self, call: ProposedCall, *, asked: bool) -> str:
        """The text for the model about a call that was not approved. `asked`: whether a user could be asked."""
        if call.problem:
            return call.problem
        if any(pattern_forbids(pattern, call) for pattern in self._never):
            return f"{call.tool}: the user never allows this; do it another way or ask them"
        if asked:
            return f"{call.tool}: the user refused this call; ask what to do instead"
        where = self._path or FILE_NAME
        shell = " It needs a shell, which no pattern with * allows." if needs_shell(call) else ""
        return (
            f"{call.tool}: not allowed, and there is nobody to ask.{shell} "
            f"The user can allow it with --allow {_quoted(advised_pattern(call))}, or under `always` in {where}"
        )

    def _remember(self, call: ProposedCall, answer: ApprovalAnswer) -> None:
        pattern = answer.pattern or exact_pattern(call)
        match answer.choice:
            case "session":
                self._session.append(check_pattern(pattern, "answer"))
            case "always":
                self._always.append(check_pattern(pattern, "answer"))
                self._save(SavedApprovals(always=(pattern,)))
            case "never":
                self._never.append(check_pattern(pattern, "answer"))
                self._save(SavedApprovals(never=(pattern,)))

    def _save(self, more: SavedApprovals) -> None:
        if self._path is None:
            return
        try:
            save_patterns(self._path, more)
        except WorkbenchError as error:
            self.problems.append(str(error))
        except OSError as error:
            self.problems.append(f"{self._path}: cannot be written: {error.strerror or error}")


def load_saved(path: Path) -> SavedApprovals:
    """The content of a file; empty if the file does not exist. Raises WrongCall for anything but lists of patterns."""
    if not os.path.lexists(path):
        return SavedApprovals()
    saved = read_table(SavedApprovals, read_toml(path), str(path))
    for key, patterns in structs.asdict(saved).items():
        for each in patterns:
            check_pattern(each, f"{path}: {key}")
    return saved


def save_patterns(path: Path, more: SavedApprovals) -> None:
    """Add patterns to a file; create it if it is missing. The rest of the file stays as the user wrote it."""
    import tomlkit  # imported late: most sessions save nothing

    with _changing(path) as place:
        now = load_saved(place)  # read again: another session may have changed the file
        document = tomlkit.parse(read_small_text(place) if place.exists() else _HEAD)
        for key, patterns in structs.asdict(more).items():
            if key not in document:
                document.add(key, tomlkit.value("[\n]"))
            for pattern in dict.fromkeys(patterns):
                if pattern not in getattr(now, key):
                    document[key].add_line(pattern)  # not `append`, which omits the comma before a comment
        replace_file(place, tomlkit.dumps(document).encode())


def forget_pattern(path: Path, pattern: str) -> None:
    """Remove a pattern from a file. Raises WrongCall if the file does not have it."""
    import tomlkit

    with _changing(path) as place:
        if not any(pattern in patterns for patterns in structs.astuple(load_saved(place))):
            raise WrongCall(f"{path}: has no {pattern}")
        document = tomlkit.parse(read_small_text(place))
        for patterns in document.values():
            while isinstance(patterns, list) and pattern in patterns:
                patterns.remove(pattern)
        replace_file(place, tomlkit.dumps(document).encode())


@contextmanager
def _changing(path: Path) -> Iterator[Path]:
    """Yield the file to change, with links resolved. Until the block ends, no other session changes it.

    Raises WrongCall if it cannot be changed: tomlkit does not accept all valid TOML.
    """
    from tomlkit.exceptions import TOMLKitError

    place = Path(os.path.realpath(path))
    make_private_folder(place.parent)
    try:
        with locked_folder(place.parent, LOCK_SECONDS):
            yield place
    except (TOMLKitError, RecursionError) as error:
        raise WrongCall(f"{path}: cannot be changed: {' '.join(str(error).split())[:200]}") from None
    except TimeoutError:
        raise WrongCall(f"{path}: another session has been changing it for {LOCK_SECONDS:g} s") from None


def _quoted(text: str) -> str:
    """Quote a word for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
