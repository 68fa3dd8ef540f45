"""Finds what users wrote themselves, without what clients add: reminders, the environment, lists of skills."""

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
"""The beginning of a block that a client adds."""
_SET_UP = re.compile(
    r"# AGENTS\.md instructions\b|This is (?:the )?\w+ (?:CLI|Code)\. We are setting up the context"
    r"|This session is being continued from a previous conversation|Observation:\s"
)
"""The beginning of a text that comes from the client as a whole."""
_TASK = re.compile(
    r"\s*(?:Current Task|New task|Please solve this issue):\s*(?P<said>.*?)(?:\n\nThis is the expected criteria\b.*)?",
    re.DOTALL,
)
"""The words that frameworks put around the user's task: CrewAI, smolagents, mini-swe-agent."""
_REQUEST = re.compile(r"## My request for \w+:[^\S\n]*\n")
"""The heading under which editors put the user's text, below their own context."""
_MEANWHILE = re.compile(r"The user sent a new message while you were working:\n(?P<said>.*?)(?:\n\n|\Z)", re.DOTALL)
"""A message that the user sent while the agent was working."""


def own_texts(texts: Iterable[str], counts: Callable[[str], bool] | None = None) -> list[str]:
    """The user's own words in the parts of a message; an empty list if there are none.

    `counts`: whether a message sent while the agent was working counts; without it all of them do.
    """
    found = [_own_words(text) for text in texts]
    return [words for words, meanwhile in found if words and not (meanwhile and counts and not counts(words))]


@lru_cache(maxsize=4)
def _own_words(text: str) -> tuple[str, bool]:
    """The user's own words in a text, and whether they were sent while the agent was working.

    Cached for a while: several rules ask for it, and texts to be summarised are very long.
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
    # Some clients quote the text that they got on the command line.
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
    """The text without the quotes around it, if it is quoted as a whole."""
    return text[1:-1] if QUOTED.fullmatch(text) else text
