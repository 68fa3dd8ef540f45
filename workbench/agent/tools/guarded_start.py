"""How commands that only read are started: no file of the project can make them run a program.

The program must be outside the project, and gets few of our variables. Git also gets settings that override those of
the repository: no monitor, no hook, no pager, no filter of the repository's own, nothing in submodules, no network, and
no folder that only looks like a repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workbench.agent.tools.base import ToolFailure
from workbench.agent.tools.output import OutputEnds
from workbench.agent.tools.process import run_process
from workbench.config.variables import selected_variables

GIT_SETTINGS = (
    *("-c", "safe.bareRepository=explicit"),  # a folder in a clone may look like a repository, with settings
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
)
"""Options that stop git from running programs that a repository names; filters need more, see `_filters_off`."""
GIT_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",  # objects missing in a partial clone are not fetched: a fetch can run anything
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
KEPT_VARIABLES = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "SYSTEMROOT"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH"),
)
"""Our variables that git gets. Those of a git that runs us (a hook, an alias) would point to another repository."""

_FOR_PEOPLE = ("LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLUMNS", "GIT_CONFIG_COUNT", "GIT_CONFIG_[KV]*_*")
"""Our variables that every command gets, too: language, time zone and terminal, and settings of git."""
_READING_SETTINGS = (
    *("-c", "core.pager=cat"),
    *("-c", "core.sshCommand=false"),
    *("-c", "gpg.program=false"),
    *("-c", "status.submoduleSummary=false"),  # starts git in submodules
)
_MOST_SETTINGS = 4 * 1024 * 1024
"""The most bytes of a repository's settings."""


def path_outside(roots: Iterable[Path], environ: Mapping[str, str] = os.environ) -> str:
    """PATH without folders that are relative or inside one of the roots, where a model may write programs."""
    inside = tuple(roots)
    found = [each for each in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    kept = [each for each in found if not any(Path(os.path.realpath(each)).is_relative_to(root) for root in inside)]
    return os.pathsep.join(kept) or os.defpath


async def guarded_start(
    words: Sequence[str], roots: Sequence[Path], seconds: float
) -> tuple[list[str], dict[str, str]]:
    """The arguments and the environment to start a command that only reads, in the first of the roots.

    Raises ToolFailure if the repository's settings cannot be made harmless.
    """
    env = {**selected_variables((*KEPT_VARIABLES, *_FOR_PEOPLE)), "PATH": path_outside(roots)}
    if words[0] != "git":
        return list(words), env
    env |= {**GIT_VARIABLES, "GIT_PAGER": "cat", "PAGER": "cat"}
    start = ["git", *GIT_SETTINGS, *_READING_SETTINGS]
    off = await _filters_off([*start, "config", "--null", "--show-scope", "--list"], env, roots[0], seconds)
    inserted = ["--ignore-submodules=dirty"] if words[1] == "status" else []
    return [*start, *off, words[1], *inserted, *words[2:]], env


async def _filters_off(listing: Sequence[str], env: Mapping[str, str], root: Path, seconds: float) -> list[str]:
    """Options that switch off the filters of the repository's own settings; the user's filters stay."""
    output, errors = OutputEnds(_MOST_SETTINGS, 0), OutputEnds(4096, 0)
    ended = await run_process(
        listing, cwd=root, seconds=seconds, output=output.add_bytes, errors=errors.add_bytes, env=env
    )
    if ended.status != 0 or not output.is_whole:
        raise ToolFailure(f"command: git cannot read its settings: {' '.join(errors.text().split()) or 'too many'}")
    fields = os.fsdecode(output.data).split("\0")
    keys = [
        entry.partition("\n")[0]
        for scope, entry in zip(fields[::2], fields[1::2], strict=False)
        if scope in ("local", "worktree")
    ]
    filters = dict.fromkeys(key.rpartition(".")[0] for key in keys if key.startswith("filter.") and key.count(".") > 1)
    if any("=" in name for name in filters):
        raise ToolFailure("command: the repository has a filter with = in its name, which cannot be switched off")
    values = ("clean=", "smudge=", "process=", "required=false")
    return [word for name in filters for value in values for word in ("-c", f"{name}.{value}")]
