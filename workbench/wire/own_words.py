"""What the user said himself, and not what his client put around it: reminders, its surroundings, lists of skills."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

QUOTED = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|(?<![\w'])'[^'\n]+'(?!\w)")
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
"""What was said in the middle of the work."""


def own_texts(texts: Iterable[str], heeds: Callable[[str], bool] | None = None) -> list[str]:
    """The user's own words in the parts of a message, where there are any.

    `heeds`: whether something that was said in the middle of the work counts; without it all of that does.
    """
    found = [_said(text) for text in texts]
    return [said for said, meanwhile in found if said and not (meanwhile and heeds and not heeds(said))]


@lru_cache(maxsize=4)
def _said(text: str) -> tuple[str, bool]:
    """What the user said in a text, and whether it was in the middle of the work.

    Kept for a moment: several rules ask for it, and what a summary is made from is very long.
    """
    text = _without_reminders(text)
    if not text.strip() or _SET_UP.match(text):
        return "", False
    task = _TASK.fullmatch(text)
    if task:
        return unquoted(task["said"]), False
    meanwhile, request = _MEANWHILE.match(text), _REQUEST.search(text)
    if meanwhile:
        return meanwhile["said"], True
    # Some clients quote what they were given on the command line.
    return unquoted(text[request.end() :] if request else text), False


def _without_reminders(text: str) -> str:
    kept, at = [], 0
    while found := _REMINDER.search(text, at):
        end = text.find(f"</{found['tag']}>", found.end())
        if end < 0:
            break
        kept.append(text[at : found.start()])
        at = end + len(found["tag"]) + 3
    return "".join([*kept, text[at:]]).strip() if at else text


def unquoted(text: str) -> str:
    """Without the quotes around it, if it is one quoted stretch."""
    return text[1:-1] if QUOTED.fullmatch(text) else text
