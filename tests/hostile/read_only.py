"""Files and folders that may not be written: approvals, settings, the home, the data.

A fault: anything but success or one clear line, a file that was read-only and is changed, or an answer about approvals
that is lost without a word.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hostile.forks import forked
from hostile.tally import Tally, call, complaint
from support.rights import give_up_rights
from support.talk import words as some_words
from workbench.agent.approvals import ApprovalAnswer, Approvals, load_saved
from workbench.agent.tools.base import ProposedCall
from workbench.log.events import AssistantMessage, UserMessage
from workbench.log.store import FILE_NAME, Store

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("tune", "talk.json", "--budget", "2", "--jobs", "1", "--cluster", "none"),
    ("tune", "talk.json", "--budget", "2", "--jobs", "1", "--cluster", "none", "--output", "best.toml"),
    ("lab", "talk.json", "--policy", "codex", "--jobs", "1"), ("lab", "talk.json", "--csv", "lab.csv", "--jobs", "1"),
    ("plan", "talk.json"), ("plan", "s"), ("waste", "talk.json"), ("requests", "s"), ("tokens", "talk.json"),
    ("agents",), ("status",), ("sessions",), ("policies",), ("models",), ("held",), ("snapshots", "s"),
    ("import", "talk.json"), ("export", "s", "-o", "out.jsonl"), ("export", "s"), ("override", "s", "pin", "1"),
    ("undo", "s"), ("compact", "s", "--summary", "talk.json"), ("compactions", "s"), ("continue", "s"),
    ("ask", "hello", "-m", "rehearsal"), ("ask", "hello", "-m", "rehearsal", "--session", "s"),
    ("sessions", "recover", "workbench.db"), ("watch", "--json"), ("replay", "s", "--yes"),
)  # fmt: skip
FOLDERS = ("config", "data", "cache", "home", "project")
ALLOWED = "always = ['run_command:ls *']\n"


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("places that are read-only")
    talk = json.dumps([{"role": role, "content": some_words(40)} for role in ("user", "assistant") * 4])
    for first in (("plan", "--help"), ("tune", "--help")):
        _warm(first)
    ended: Counter[str] = Counter()
    for number in range(tries):
        base = folder / f"r{number}"
        _lay_out(base, talk)
        locked = chance.sample(FOLDERS, chance.randint(1, len(FOLDERS)))
        if number % 5 == 0:
            with tally.watching(f"an answer about approvals, {locked}"):
                ended[_answered(base, chance)] += 1
        else:
            words = COMMANDS[number % len(COMMANDS)]
            with tally.watching(f"{' '.join(words)}, read-only: {locked}"):
                ended[_called(base, words, locked)] += 1
        _unlock(base)
    tally.told = ", ".join(f"{what} {many:,}" for what, many in sorted(ended.items()))
    return tally


def _warm(words: tuple[str, ...]) -> None:
    """Import what forks need."""
    with suppress(SystemExit):
        call(*words)


def _lay_out(base: Path, talk: str) -> None:
    for name in FOLDERS:
        (base / name).mkdir(parents=True)
    (base / "project/talk.json").write_text(talk, "utf-8")
    (base / "config/approvals.toml").write_text(ALLOWED, "utf-8")
    (base / "config/config.toml").write_text("", "utf-8")
    with Store.open(base / "data" / FILE_NAME) as store, store.create(id="s") as session:
        session.append(UserMessage("question"), AssistantMessage("answer", "r1"))


def _lock(base: Path, names: list[str]) -> dict[Path, bytes]:
    """Take the right to write away; what the files hold."""
    before = {}
    for name in names:
        for path in sorted((base / name).rglob("*"), reverse=True):
            if path.is_file():
                before[path] = path.read_bytes()
            path.chmod(0o555 if path.is_dir() else 0o444)
        (base / name).chmod(0o555)
    return before


def _unlock(base: Path) -> None:
    for path in (base, *base.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def _called(base: Path, words: tuple[str, ...], locked: list[str]) -> str:
    before = _lock(base, locked)
    outcome = forked(*words, before=_settled_in(base)).ended()
    wrong = complaint(outcome)
    assert not wrong, wrong
    _check_unchanged(before)
    return "refused" if outcome.code else "done"


def _check_unchanged(before: dict[Path, bytes]) -> None:
    for path, text in before.items():
        assert path.read_bytes() == text, f"{path.name} was read-only and is changed"


def _settled_in(base: Path) -> Callable[[], None]:
    """What a process does first: it gives up root's right to write everywhere, and works below a folder."""

    def settle() -> None:
        for name in ("CONFIG", "DATA", "CACHE"):
            os.environ[f"WORKBENCH_{name}_DIR"] = str(base / name.lower())
        os.environ["HOME"] = str(base / "home")
        os.chdir(base / "project")
        give_up_rights()

    return settle


# Approvals


def _answered(base: Path, chance: random.Random) -> str:
    """Somebody allows a command for ever where that cannot be saved: it holds for now, and it is said why."""
    path = base / "config/approvals.toml"
    what = chance.choice(("file", "folder", "both"))
    before = _lock(base, ["config"])
    if what == "file":
        path.parent.chmod(0o700)
    if what == "folder":
        path.chmod(0o600)
    pid = os.fork()
    if not pid:
        code = 99
        try:
            _settled_in(base)()
            code = _saved_or_told(path)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, {1: "it was not told", 2: "it does not hold", 99: "an exception"}.get(code, code)
    _check_unchanged(before)
    return f"approvals, {what}"


def _saved_or_told(path: Path) -> int:
    approvals = Approvals.load(path=path)
    proposed = ProposedCall("run_command", "run", "make all")
    approvals._remember(proposed, ApprovalAnswer("always", "run_command:make *"))
    if approvals.decision_for(proposed) != "allow":
        return 2
    is_saved = "run_command:make *" in load_saved(path).always
    return 0 if is_saved or approvals.problems else 1
