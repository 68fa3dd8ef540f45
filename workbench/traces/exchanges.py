"""Builds conversations from requests and their answers.

- A request that begins with all the messages of an earlier one continues its conversation; others begin a new one.
  Cache marks make no difference, nor whether a single text is in a list. If the earlier request has only one message,
  the system prompt has to be the same too.
- The model's reply, and the usage of the request, are read from the answer. Without an answer, or if the next request
  repeats it with other calls, the reply is read from the next request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from workbench.log.events import AssistantMessage, Body, text_of
from workbench.traces.building import Builder, content_hash
from workbench.traces.request_thread import Exchange, RequestThread, calls_in
from workbench.wire.dialects import read_answer
from workbench.wire.values import is_models


def exchange_threads(exchanges: Iterable[Exchange]) -> list[list[Exchange]]:
    """Group the exchanges by conversation; each group is in order."""
    found: list[list[Exchange]] = []
    latest: dict[tuple[str, ...], list[Exchange]] = {}
    """Each conversation, by the key of its last request."""
    for exchange in exchanges:
        held = list(_held(exchange))
        known = next((each for each in reversed(held) if each in latest), None)
        thread = latest.pop(known) if known else []
        if not thread:
            found.append(thread)
        thread.append(exchange)
        latest[held[-1]] = thread
    return found


def joined_threads(threads: Iterable[list[Exchange]]) -> list[list[Exchange]]:
    """Join threads of several traces if the first request of one continues the last of another, with its answer."""
    found: list[list[Exchange]] = []
    latest: dict[tuple[str, ...], list[list[Exchange]]] = {}
    """The threads by the key of their last request."""
    for thread in sorted(threads, key=lambda each: each[0].at):
        joined = _continued_by(thread[0], latest)
        if joined is None:
            found.append(thread)
        else:
            latest[_last_key(joined[-1])].remove(joined)
            joined += thread
        whole = thread if joined is None else joined
        latest.setdefault(_last_key(whole[-1]), []).append(whole)
    return found


def _continued_by(first: Exchange, latest: dict[tuple[str, ...], list[list[Exchange]]]) -> list[Exchange] | None:
    """The thread whose last request and answer a request begins with."""
    for number, key in reversed(list(enumerate(_held(first), 1))):
        replied = list(takewhile(is_models, first.talk[number:]))
        for thread in reversed(latest.get(key, []) if replied else []):
            answered, _ = read_answer(first.dialect, thread[-1].answer)
            made = RequestThread(Builder(""), first.dialect).scratch(replied)
            if (calls_in(answered), _words(answered)) == (calls_in(made), _words(made)):
                return thread
    return None


def _words(bodies: list[Body]) -> str:
    return "".join(text_of(body.content) for body in bodies if isinstance(body, AssistantMessage)).strip()


def _last_key(exchange: Exchange) -> tuple[str, ...]:
    return list(_held(exchange))[-1]


def conversations_of(exchanges: Iterable[Exchange], format_name: str) -> list[Builder]:
    """Build the conversations of the exchanges. The caller may add more events to the builders."""
    return [thread_conversation(thread, format_name) for thread in exchange_threads(exchanges)]


def thread_conversation(thread: Sequence[Exchange], format_name: str) -> Builder:
    builder = Builder(format_name)
    adding = RequestThread(builder, thread[0].dialect)
    for exchange, following in zip(thread, [*thread[1:], None], strict=True):
        adding.add_exchange(exchange, following)
    return builder


def _held(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """Yield a key for the first message of a request, the first two, and so on. The last key identifies the request."""
    digest = ""
    if not exchange.names:  # nothing but a system prompt
        yield (exchange.dialect, digest, exchange.prompt_name)
    for number, name in enumerate(exchange.names, 1):
        digest = content_hash([digest, name])
        yield (exchange.dialect, digest) if number > 1 else (exchange.dialect, digest, exchange.prompt_name)
