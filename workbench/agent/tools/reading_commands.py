"""Commands that only read: whatever a project's files contain, they run no other program and change nothing.

Only these are offered as patterns with `*`. For git they are a few sub-commands with the options listed here; another
option may start a pager, a viewer for `--help`, a converter for a diff, or git in a submodule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.config.patterns import late_pattern

_PROGRAMS = frozenset(
    "basename df dirname echo id ls md5sum pwd readlink realpath sha256sum stat test uname".split()  # noqa: SIM905
)
"""With any options, these run no program and show the content of no file."""

_MODES = r"(?:=?(?:no|normal|all))"
_GIT_OPTIONS = {
    "status": rf"-[sbz]*(?:u{_MODES}?)?|--short|--branch|--show-stash|--porcelain(?:=v[12])?|--long|--null"
    rf"|--untracked-files{_MODES}?|--ignored(?:=(?:traditional|no|matching))?|--(?:no-)?(?:ahead-behind|renames)"
    r"|--find-renames(?:=\d+%?)?|--no-column",
    "describe": r"--all|--tags|--contains|--abbrev(?:=\d+)?|--candidates=\d+|--exact-match|--long|--always"
    r"|--first-parent|--(?:match|exclude)=.*",
    "ls-files": r"-[cdmosutkz]+|--cached|--deleted|--modified|--others|--stage|--unmerged|--killed|--ignored|-i"
    r"|--directory|--no-empty-directory|--exclude-standard|--exclude=.*|--error-unmatch|--full-name|--deduplicate|--eol"
    r"|--abbrev(?:=\d+)?",
    "rev-parse": r"--abbrev-ref(?:=(?:strict|loose))?|--short(?:=\d+)?|--verify|-q|--quiet|--symbolic(?:-full-name)?"
    r"|--all|--(?:branches|tags|remotes)(?:=.*)?|--show-(?:toplevel|prefix|cdup|object-format)|--(?:absolute-)?git-dir"
    r"|--git-common-dir|--is-(?:inside-work-tree|inside-git-dir|bare-repository|shallow-repository)"
    r"|--path-format=(?:absolute|relative)",
}
_GIT = {name: late_pattern(options, re.DOTALL) for name, options in _GIT_OPTIONS.items()}

READING = frozenset({*_PROGRAMS, *(f"git {name}" for name in _GIT)})
"""The programs, and git with its sub-commands."""


def reading_name(words: Sequence[str]) -> str:
    """The name in READING of a command that only reads; empty for any other command."""
    if words[0] in _PROGRAMS:
        return words[0]
    if words[0] != "git" or len(words) < 2 or words[1] not in _GIT:
        return ""
    rest = words[2:]
    options = rest[: rest.index("--")] if "--" in rest else rest
    known = all(not word.startswith("-") or _GIT[words[1]].fullmatch(word) for word in options)
    return f"git {words[1]}" if known else ""
