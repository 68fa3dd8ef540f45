"""What the user said last, in a request, and what came after it."""

from __future__ import annotations

from workbench.rehearsal.plain_requests import rounds
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.own_words import own_texts


def own_words_in(message: CheckedMessage) -> list[str]:
    """What the user said in a message himself; in the middle of the work only what asks for something."""
    return own_texts(message.texts or (message.text,), lambda said: bool(rounds(said)))


def turn_of(request: CheckedRequest) -> tuple[CheckedMessage, ...]:
    """The last message with words of the user's own, and what came after it."""
    for at in range(len(request.messages) - 1, -1, -1):
        message = request.messages[at]
        if message.role == "user" and (own_words_in(message) or not message.text):
            return request.messages[at:]
    return ()


def asked_in(request: CheckedRequest) -> str:
    """What the user said last."""
    return next((said for message in turn_of(request)[:1] for said in reversed(own_words_in(message))), "")


def has_results(request: CheckedRequest) -> bool:
    """Whether tools have given something since then."""
    return any(message.role == "tool" for message in turn_of(request))
