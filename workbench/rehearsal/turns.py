"""The user's last message in a request, and what came after it."""

from __future__ import annotations

from workbench.rehearsal.plain_requests import request_rounds
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.own_words import own_texts


def own_words_in(message: CheckedMessage) -> list[str]:
    """The user's own words in a message; in the middle of the work, only those that ask for something."""
    return own_texts(message.texts or (message.text,), lambda text: bool(request_rounds(text)))


def turn_of(request: CheckedRequest) -> tuple[CheckedMessage, ...]:
    """The last message with the user's own words, and everything after it."""
    for at in range(len(request.messages) - 1, -1, -1):
        message = request.messages[at]
        if message.role == "user" and (own_words_in(message) or not message.text):
            return request.messages[at:]
    return ()


def asked_in(request: CheckedRequest) -> str:
    """The user's last words."""
    return next((text for message in turn_of(request)[:1] for text in reversed(own_words_in(message))), "")


def has_results(request: CheckedRequest) -> bool:
    """Whether tools have returned results since then."""
    return any(message.role == "tool" for message in turn_of(request))
