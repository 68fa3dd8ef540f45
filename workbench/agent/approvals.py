"""Who may do what: reading is free, writing and running ask, and answers can hold for longer than one call.

What was answered "always" or "never" lies in `approvals.toml` in the config folder, as patterns. "Never" wins over
everything, "always", the session's answers and `--allow` are equal.
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
    advised,
    check_pattern,
    covers,
    exact,
    forbids,
    is_beginning,
    needs_shell,
    suggestions,
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
    """What the user says. "no" refuses this call alone."""

    choice: Choice
    pattern: str = ""
    """For session, always and never: what it holds for; empty: this very call."""


class ApprovalQuestion(NamedTuple):
    """What the user is asked."""

    call: ProposedCall
    patterns: tuple[str, ...]
    """What an answer may hold for, the narrowest first."""


Ask = Callable[[ApprovalQuestion], Awaitable[ApprovalAnswer]]


_Patterns = Annotated[tuple[str, ...], Meta(description="a list of patterns")]


class Saved(Table, frozen=True):
    """What the file says."""

    always: _Patterns = ()
    never: _Patterns = ()


class Approvals:
    """The user's answers, those of before and those of this session."""

    def __init__(self, saved: Saved | None = None, *, allow: Iterable[str] = (), path: Path | None = None) -> None:
        """`allow`: patterns for this run alone. `path`: where answers are saved; None: nowhere."""
        saved = saved or Saved()
        self._always = list(saved.always)
        self._never = list(saved.never)
        self._session = [check_pattern(pattern, "--allow") for pattern in allow]
        self._path = path
        self._asking = asyncio.Lock()
        self.problems: list[str] = []
        """Answers that could not be saved, in a line each; they hold for the session all the same."""

    @classmethod
    def load(cls, *, allow: Iterable[str] = (), path: Path | None = None) -> Approvals:
        """With what the user's file says; raises WrongCall that names what is wrong with it."""
        place = config_dir() / FILE_NAME if path is None else path
        return cls(load_saved(place), allow=allow, path=place)

    def decide(self, call: ProposedCall) -> Decision:
        """Whether a call may run, without asking anybody."""
        if call.problem or any(forbids(pattern, call) for pattern in self._never):
            return "deny"
        if call.kind == "read" or any(covers(pattern, call) for pattern in (*self._always, *self._session)):
            return "allow"
        return "ask"

    def runs_plain(self, call: ProposedCall) -> bool:
        """Whether a call is allowed by beginnings alone: such a command is started without a shell."""
        found = [pattern for pattern in (*self._always, *self._session) if covers(pattern, call)]
        return bool(found) and all(map(is_beginning, found))

    async def approve(self, call: ProposedCall, ask: Ask | None) -> bool:
        """Whether a call may run, after asking where that is needed; with nobody to ask: only what is allowed."""
        decision = self.decide(call)
        if decision != "ask" or ask is None:
            return decision == "allow"
        async with self._asking:  # one question at a time
            decision = self.decide(call)  # the answer to another may have settled it
            if decision == "ask":
                answer = await ask(ApprovalQuestion(call, suggestions(call)))
                self._remember(call, answer)
                return answer.choice in ("once", "session", "always")
            return decision == "allow"

    def refusal(self, call: ProposedCall, *, asked: bool) -> str:
        """What the model is told of a call that was not approved; `asked`: whether there was somebody to ask."""
        if call.problem:
            return call.problem
        if any(forbids(pattern, call) for pattern in self._never):
            return f"{call.tool}: the user never allows this; do it another way or ask them"
        if asked:
            return f"{call.tool}: the user refused this call; ask what to do instead"
        where = self._path or FILE_NAME
        shell = " It needs a shell, which no pattern with * allows." if needs_shell(call) else ""
        return (
            f"{call.tool}: not allowed, and there is nobody to ask.{shell} "
            f"The user can allow it with --allow {_quoted(advised(call))}, or under `always` in {where}"
        )

    def _remember(self, call: ProposedCall, answer: ApprovalAnswer) -> None:
        pattern = answer.pattern or exact(call)
        match answer.choice:
            case "session":
                self._session.append(check_pattern(pattern, "answer"))
            case "always":
                self._always.append(check_pattern(pattern, "answer"))
                self._save(Saved(always=(pattern,)))
            case "never":
                self._never.append(check_pattern(pattern, "answer"))
                self._save(Saved(never=(pattern,)))

    def _save(self, more: Saved) -> None:
        if self._path is None:
            return
        try:
            save(self._path, more)
        except WorkbenchError as error:
            self.problems.append(str(error))
        except OSError as error:
            self.problems.append(f"{self._path}: cannot be written: {error.strerror or error}")


def load_saved(path: Path) -> Saved:
    """What a file says; nothing when there is none. Raises WrongCall for anything that is not a list of patterns."""
    if not os.path.lexists(path):
        return Saved()
    saved = read_table(Saved, read_toml(path), str(path))
    for key, patterns in structs.asdict(saved).items():
        for each in patterns:
            check_pattern(each, f"{path}: {key}")
    return saved


def save(path: Path, more: Saved) -> None:
    """Add patterns to a file, which is made where it is missing; the rest of it stays as the user wrote it."""
    import tomlkit  # late: most sessions save nothing

    with _changing(path) as place:
        now = load_saved(place)  # by now: another session may have written to it
        document = tomlkit.parse(read_small_text(place) if place.exists() else _HEAD)
        for key, patterns in structs.asdict(more).items():
            if key not in document:
                document.add(key, tomlkit.value("[\n]"))
            for pattern in dict.fromkeys(patterns):
                if pattern not in getattr(now, key):
                    document[key].add_line(pattern)  # not `append`, which forgets the comma before a comment
        replace_file(place, tomlkit.dumps(document).encode())


def forget(path: Path, pattern: str) -> None:
    """Take a pattern out of a file; raises WrongCall where it has none such."""
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
    """The file to change, which a link may lead to. Until the end no other session changes it.

    Raises WrongCall where it cannot be changed: tomlkit does not take all that is TOML.
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
    """A word for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
