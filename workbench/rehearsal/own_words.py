"""What the user said himself, and not what his client put around it: reminders, its surroundings, lists of skills."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from workbench.rehearsal.plain_requests import rounds, unquoted

_REMINDER = re.compile(
    r"<(?<![^\s]<)(?P<tag>INSTRUCTIONS|skill|(?:[a-z]+[:_-])+"
    r"(?:reminder|context|instructions?|info|selection|opened|files?|skills|message|notification|stdout|stderr|name|args|"
    r"caveat|contents|mode|role|status|aborted|memory|env|environment|tools|agents|hook|state|directory|data|datetime|"
    r"date))(?:\s[^>\n]*)?>"
)
"""How a block begins that a client adds."""
_SET_UP = re.compile(
    r"# AGENTS\.md instructions\b|This is (?:the )?\w+ (?:CLI|Code)\. We are setting up the context"
    r"|This session is being continued from a previous conversation|Observation:\s"
)
"""How a whole text begins that a client adds."""
_TASK = re.compile(
    r"\s*(?:Current Task|New task|Please solve this issue):\s*(?P<said>.*?)(?:\n\nThis is the expected criteria\b.*)?",
    re.DOTALL,
)
"""What frameworks put around the task that they were given: CrewAI, smolagents, mini-swe-agent."""
_REQUEST = re.compile(r"## My request for \w+:[^\S\n]*\n")
"""Where editors put what the user said, below what they know."""
_MEANWHILE = re.compile(r"The user sent a new message while you were working:\n(?P<said>.*?)(?:\n\n|\Z)", re.DOTALL)
"""What was said in the middle of the work; without a request of its own it changes nothing."""


def own_texts(texts: Iterable[str]) -> list[str]:
    """The user's own words in the parts of a message, where there are any."""
    return [said for text in texts if (said := _said(text))]


@lru_cache(maxsize=4)
def _said(text: str) -> str:
    """Kept for a moment: several rules ask for it, and what a summary is made from is very long."""
    text = _without_reminders(text)
    if not text.strip() or _SET_UP.match(text):
        return ""
    task = _TASK.fullmatch(text)
    if task:
        return unquoted(task["said"])
    meanwhile, request = _MEANWHILE.match(text), _REQUEST.search(text)
    if meanwhile:
        return meanwhile["said"] if rounds(meanwhile["said"]) else ""
    # Some clients quote what they were given on the command line.
    return unquoted(text[request.end() :] if request else text)


def _without_reminders(text: str) -> str:
    kept, at = [], 0
    while found := _REMINDER.search(text, at):
        end = text.find(f"</{found['tag']}>", found.end())
        if end < 0:
            break
        kept.append(text[at : found.start()])
        at = end + len(found["tag"]) + 3
    return "".join([*kept, text[at:]]).strip() if at else text
