"""Whether a call succeeded, failed, was denied or was cancelled, from its result.

Logs have a text and an error flag; only each agent's own wording shows whether the user said no.
"""

from __future__ import annotations

import re
from typing import Literal

from workbench.config.patterns import late_pattern

Outcome = Literal["done", "failed", "denied", "cancelled"]

MOST_LOOKED_AT = 300
"""Characters at the beginning of a result that are searched for the wording."""

_DENIED = late_pattern(
    r"""
    [\w.-]+:\ the\ user\ (refused\ this\ call|never\ allows\ this) | [\w.-]+:\ not\ allowed,\ and\ nobody
    | refused\ by\ a\ hook: | (error:\s*)?the\ user\ (doesn['’]t\ want\ to|denied|rejected|refused|declined)
    | permission\ to\ use\ \S+\ (\S+\ )?has\ been\ denied | claude\ requested\ permissions?\ to
    | permission\ denied\ and\ could\ not\ request | user\ (rejected|denied|refused)\b
    | (exec\ command|patch|tool\ call|command)\ (was\ )?rejected\ by\ (the\ )?user
    | (the\ )?(tool\ call|action|call)\ (is|was|has\ been)\ (rejected|denied)\ by\ the\ user
    | \[operation\ cancelled\]\ reason:\ user\ (did\ not\ allow|denied)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CANCELLED = late_pattern(
    r"""
    \[cancelled\ by\ the\ user | \[request\ interrupted\ by\ user | aborted\ by\ user | \[operation\ cancelled\]
    | (tool\ call|operation|tool\ execution|command)\ (was\ )?(cancelled|canceled|aborted)\b
    | (cancelled|canceled)\ by\ (the\ )?user
    """,
    re.IGNORECASE | re.VERBOSE,
)


def outcome_of(result: str, is_error: bool) -> Outcome:
    """The outcome of a call with this result."""
    start = result[:MOST_LOOKED_AT].lstrip()
    if _DENIED.match(start):
        return "denied"
    if _CANCELLED.match(start):
        return "cancelled"
    return "failed" if is_error else "done"
