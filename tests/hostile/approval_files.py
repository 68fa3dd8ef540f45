"""Files of approvals: no TOML, wrong types, thousands of rules, patterns that a matcher could get lost in, links.

A fault: anything but an answer or one clear error, a rule that allows what it does not name, a file that is damaged, or
an answer of several that are saved at the same time and is gone.
"""

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hostile.tally import Tally, check_one_line
from workbench.agent.approvals import Approvals, SavedApprovals, forget_pattern, load_saved, save_patterns
from workbench.agent.tools.base import ProposedCall
from workbench.config.errors import WorkbenchError

STARS = "*a" * 40
PATTERNS = (
    "run_command:ls *", "write_file:**", "write_file:src/**", f"write_file:{STARS}b", f"{STARS}b:x",
    "write_file:" + "**/" * 200 + "x",
    f"write_file:{'[' * 500}", f"write_file:{'[!a' * 200}]",
    "write_file:" + "?" * 5_000, f"run_command:{'x ' * 5_000}*", "mcp__*",
    "run_command:echo '*", "write_file:../**", "write_file:/**", "run_command:\u202els *", "write_file:a\u0000b",
)  # fmt: skip
TEXTS = (
    "", "\ufeff", "[", "always = 1", "always = 'x'", "always = [1]", "always = [[]]", "always = {}", "alway = []",
    "always = ['']", "always = ['a/b']", "[always]\nx = 1", "[[always]]\nx = 1", "never = 1",
    "always = ['x']\nalways = []",
    "always = [" * 5_000, "a = " + "[" * 20_000, "x" * 100_000, "\x00", "always = [\n'run_command', # why\n]",
    "always.x = 1",
    "always = ['''run_command''',]", 'always = ["run_command:ls\\u0000"]', "always = [nan]", "never = [1979-05-27]",
    "\r\r\r",
)  # fmt: skip
CALLS = (
    ProposedCall("run_command", "run", "ls -la"),
    ProposedCall("run_command", "run", "rm -rf ."),
    ProposedCall("write_file", "write", "src/" + "a" * 200),
    ProposedCall("write_file", "write", "/".join("a" * 100)),
    ProposedCall("mcp__tool", "run", '{"x": 1}'),
    ProposedCall("a" * 64, "run", "x"),
)


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many files."""
    tally = Tally("files of approvals")
    refused = 0
    for number in range(tries):
        path = folder / str(number) / "approvals.toml"
        path.parent.mkdir()
        make = chance.choice(MAKERS)
        with tally.watching(f"{make.__name__}, {number}"):
            make(path, chance)
            refused += _used(path)
    for number in range(max(tries // 20, 1)):
        with tally.watching(f"saved at the same time, {number}"):
            _at_the_same_time(folder / f"t{number}" / "approvals.toml")
    tally.told = f"{refused:,} files refused"
    return tally


def _used(path: Path) -> bool:
    """Load it, decide, save and revoke, as a session does; whether the file was refused."""
    try:
        approvals = Approvals.load(path=path)
    except WorkbenchError as error:
        check_one_line(error)
        return True
    before = load_saved(path)
    for call in CALLS:
        named = any(each.split(":")[0] in (call.tool, "*") or "*" in each.split(":")[0] for each in before.always)
        assert approvals.decision_for(call) != "allow" or named, f"{call.tool} is allowed by nothing"
    mode = os.stat(path).st_mode if path.exists() else 0
    try:
        save_patterns(path, SavedApprovals(always=("run_command:new *",)))
        after = load_saved(path)
        assert set(after.always) == {*before.always, "run_command:new *"}, "rules were lost"
        assert after.never == before.never, "rules were lost"
        assert not mode or os.stat(path).st_mode == mode
        forget_pattern(path, "run_command:new *")
        tomllib.loads(path.read_text("utf-8-sig"))
    except WorkbenchError as error:
        check_one_line(error)
        assert not path.exists() or load_saved(path) == before, "a refusal changed the file"
    except PermissionError:
        assert load_saved(path) == before
    return False


def _at_the_same_time(path: Path) -> None:
    patterns = [f"run_command:x{number} *" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pattern: save_patterns(path, SavedApprovals(always=(pattern,))), patterns))
    assert set(load_saved(path).always) == set(patterns), "an answer was lost"
    assert [each.name for each in path.parent.iterdir()] == [path.name], "something is left"


# Files


def a_text(path: Path, chance: random.Random) -> None:
    path.write_text(chance.choice(TEXTS), "utf-8")


def bytes_at_random(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randint(0, 2_000)))


def hard_patterns(path: Path, chance: random.Random) -> None:
    listed = ", ".join(map(_toml, chance.choices(PATTERNS, k=chance.randint(1, 8))))
    path.write_text(f"always = [{listed}]\nnever = [{_toml(chance.choice(PATTERNS))}]\n", "utf-8")


def thousands(path: Path, chance: random.Random) -> None:
    rules = "".join(
        f"  {_toml(f'write_file:src/{number}/**')},\n" for number in range(chance.choice((300, 300, 2_000)))
    )
    path.write_text(f"always = [\n{rules}]\n", "utf-8")


def cut_off(path: Path, chance: random.Random) -> None:
    whole = "# why\nalways = [\n  'run_command:ls *', # one\n  'write_file:src/**',\n]\nnever = ['run_command:rm *']\n"
    at = chance.randrange(len(whole))
    path.write_text(whole[:at] + chance.choice(("", "\x00", "'", "]", "[", "\n", ",")) + whole[at + 1 :], "utf-8")


def a_link(path: Path, chance: random.Random) -> None:
    elsewhere = path.parent / "dotfiles" / "approvals.toml"
    elsewhere.parent.mkdir()
    elsewhere.write_text("always = ['write_file:a/**']\n")
    path.symlink_to(chance.choice((elsewhere, Path("dotfiles/approvals.toml"), path, path.parent, Path("missing"))))


MAKERS: tuple[Callable[[Path, random.Random], None], ...] = (
    a_text,
    a_text,
    bytes_at_random,
    hard_patterns,
    hard_patterns,
    thousands,
    cut_off,
    a_link,
)


def _toml(text: str) -> str:
    return (
        '"'
        + "".join(each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08x}" for each in text)
        + '"'
    )
