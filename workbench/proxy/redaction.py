"""Masks secrets in what is stored: keys and passwords in files and in the output of commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

MASK: Final = "[redacted]"
_SECRETS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,64}[-_]){0,6}[A-Za-z0-9]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|npm|hf)[-_][A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
)
_ASSIGNED: Final = re.compile(
    r"(?P<name>(?:api[_-]?key|secret|password|passwd|access[_-]?token|auth[_-]?token|private[_-]?key)[\w.-]{0,64}"
    r"[\"']?\s{0,16}[:=]\s{0,16}[\"']?)(?!\[redacted\])(?P<value>[^\s\"',;]{8,})",
    re.IGNORECASE,
)
"""An assignment to a name that suggests a secret. Repetitions have limits: a text may be made to take long."""


def redact_text(text: str) -> tuple[str, int]:
    """A text with its secrets masked, and how many there were."""
    without, secrets = _SECRETS.subn(MASK, text)
    made, assigned = _ASSIGNED.subn(lambda found: found["name"] + MASK, without)
    return made, secrets + assigned


class Redactor:
    """Masks secrets in many texts, and counts them."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known`: keys that are masked whatever they look like."""
        self._known = sorted(known, key=len, reverse=True)
        self.count = 0

    def redact(self, text: str) -> str:
        """The text with its secrets masked."""
        for key in self._known:
            if key in text:
                self.count += text.count(key)
                text = text.replace(key, MASK)
        text, found = redact_text(text)
        self.count += found
        return text


def redacted(value: Any) -> Any:
    """A JSON value with its secrets masked. The keys of objects are unchanged."""
    if isinstance(value, str):
        return redact_text(value)[0]
    if isinstance(value, list):
        return [redacted(each) for each in value]
    if isinstance(value, dict):
        return {key: redacted(each) for key, each in value.items()}
    return value
