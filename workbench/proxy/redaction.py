"""Masks secrets in what is stored: keys and passwords in files and in the output of commands."""

from __future__ import annotations

import re
from typing import Any, Final

MASK: Final = "[redacted]"
_SECRETS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|npm|hf)[-_][A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
)
_ASSIGNED: Final = re.compile(
    r"(?P<name>[\w.-]*(?:api[_-]?key|secret|password|passwd|access[_-]?token|auth[_-]?token|private[_-]?key)[\w.-]*"
    r"[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"',;]{8,})",
    re.IGNORECASE,
)
"""An assignment to a name that suggests a secret."""


def redacted(value: Any) -> Any:
    """A JSON value with its secrets masked. The keys of objects are unchanged."""
    if isinstance(value, str):
        return _ASSIGNED.sub(lambda found: found["name"] + MASK, _SECRETS.sub(MASK, value))
    if isinstance(value, list):
        return [redacted(each) for each in value]
    if isinstance(value, dict):
        return {key: redacted(each) for key, each in value.items()}
    return value
