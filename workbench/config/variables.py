"""Environment variables that hold keys: how they are recognised, who may see them and how they are hidden.

Our own process keeps them, because litellm reads them from the environment. The processes that we start do not inherit
them, other processes cannot read them in `/proc/PID/environ`, and they are removed from the results of tools.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from workbench.config.patterns import late_pattern

HIDDEN = "[key]"
"""The text that replaces a key."""
KEY_SHAPES = (
    r"\b(?:sk|gsk|xai|hf|nvapi|pplx|gh[oprsu]|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_*.\-]{6,}[A-Za-z0-9*]"
    r"|\bAIza[A-Za-z0-9_\-]{10,}|\bAKIA[A-Z0-9]{16}\b"
)
"""Keys in the formats of their issuers, also with the middle starred out."""

_NAME = late_pattern(
    r"((^|_)(API_?KEYS?|KEYS?|KEY_ID|TOKENS?|SECRETS?|\w*PASSWORDS?|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|PAT|JWT|AUTH|BEARER"
    r"|SECRET_KEY_BASE)|\w(APIKEYS?|AIKEY|_PWD))(_(\d+|OLD|NEW|PREVIOUS|BACKUP|PROD|DEV|TEST|STAGING|LIVE))*$"
)
_VALUE = late_pattern(KEY_SHAPES)
_HOLDS_KEY = late_pattern(rf"(?:^|[\s=\"'])(?:{KEY_SHAPES})|^\w[\w+.-]*://[^/\s:@]*:[^/\s@]+@")
"""A key alone, in a header or in JSON, or an address with a password."""
_SHORTEST = 8
"""Shorter values are not keys; removing them would only mangle the text."""
_remembered: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Whether a variable has the name of one that holds a key."""
    return _NAME.search(name.upper()) is not None and not name.startswith("GIT_CONFIG_KEY_")


def is_secret(name: str, value: str) -> bool:
    """Whether a variable has the name of one that holds a key, or its value looks like a key."""
    held = _HOLDS_KEY.search(value) is not None and not name.upper().endswith("_PROXY")
    is_limit = name.upper().endswith("TOKENS") and value.isdecimal()  # as in MAX_THINKING_TOKENS
    return held or (is_secret_name(name) and not is_limit)


def without_keys(passed: Iterable[str] = (), environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without keys; `passed`: names or patterns of variables to keep anyway."""
    patterns = tuple(passed)
    return {name: value for name, value in environ.items() if not is_secret(name, value) or _is_passed(name, patterns)}


def selected_variables(passed: Iterable[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Only the variables with these names or patterns."""
    patterns = tuple(passed)
    return {name: value for name, value in environ.items() if _is_passed(name, patterns)}


def _is_passed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def remember_key(value: str) -> None:
    """Remember a key from elsewhere: the key store, or the settings of a server."""
    _remembered.add(value)


def known_keys(environ: Mapping[str, str] = os.environ) -> set[str]:
    """The keys that we know. The path of a file that holds one is not a key."""
    found = {value for name, value in environ.items() if is_secret(name, value)} | _remembered
    found |= {part for value in found for part in _VALUE.findall(value)}
    return {
        value for value in found if len(value) >= _SHORTEST and not (value.startswith("/") and os.path.exists(value))
    }


def without_known_keys(text: str, more: Iterable[str] = (), environ: Mapping[str, str] = os.environ) -> str:
    """A text without the keys that we know."""
    found = known_keys(environ) | {value for value in more if len(value) >= _SHORTEST}
    for value in sorted(found, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def clear_start_block() -> None:
    """Overwrite keys in the environment block of the process, which others can read as `/proc/PID/environ`.

    Deleting a variable from `os.environ` does not change that block. Once overwritten, not even root can read it.
    Systems other than Linux have no such file.
    """
    with suppress(OSError, ValueError, IndexError):
        # pid (name) state ...; the name may hold brackets and blanks, and the state is the third field
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])  # env_start and env_end
        if 0 < start < end:
            _overwrite(start, end)


def _overwrite(start: int, end: int) -> None:
    import ctypes

    at = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        name, _, value = entry.partition(b"=")
        if is_secret(os.fsdecode(name), os.fsdecode(value)):
            ctypes.memset(at + len(name) + 1, 0, len(value))
            if sys.platform != "win32" and name in os.environb:  # C libraries read it from here
                os.putenv(name, os.environb[name])
        at += len(entry) + 1
