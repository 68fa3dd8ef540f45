"""Commands that need no shell: a program and its arguments, which `shlex` and a shell read in the same way.

Approvals may allow these by a prefix; then they are started without a shell. A command that a shell would expand,
redirect or split into several commands is not one of them.
"""

from __future__ import annotations

import re
import shlex

from workbench.config.patterns import late_pattern

BLANK = " \t\n"
"""Characters that a shell skips at both ends of a command."""

_LONGEST = 100_000
"""In characters. Systems accept little more, and parsing takes time."""
_WORD = r"""(?![=~])(?:
    [\w./:=@%+,^-]
    | (?<![\s:=])~      # elsewhere a shell may put a home folder in its place
    | \\[^\n]
    | '[^']*'
    | "(?:[^"\\$`]|\\[^\n$`])*"
)+"""
_PLAIN = late_pattern(rf"{_WORD}(?:[ \t]++{_WORD})*", re.VERBOSE)
"""A text has at most one reading. No group is possessive: in Python 3.11.2, which Debian has, such groups fail."""
_ASSIGNMENT = late_pattern(r"[^'\"\\ \t]*=")
_OF_SHELLS = late_pattern(
    r"[.:]|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|continue|coproc|declare|dirs|disown|do|done"
    r"|elif|else|enable|esac|eval|exec|exit|export|fc|fg|fi|for|function|getopts|hash|help|history|if|in|jobs|let|local"
    r"|logout|mapfile|popd|pushd|read|readarray|readonly|return|select|set|shift|shopt|source|suspend|then|times?|trap"
    r"|type|typeset|ulimit|umask|unalias|unset|until|wait|while"
)
"""First words that a shell does not look up as programs."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """The program and its arguments; None for a command that needs a shell."""
    text = command.strip(BLANK)
    if len(text) > _LONGEST or "\0" in text or not _PLAIN.fullmatch(text) or _ASSIGNMENT.match(text):
        return None
    words = tuple(shlex.split(text))
    return None if not words[0] or _OF_SHELLS.fullmatch(words[0]) else words
