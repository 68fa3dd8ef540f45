"""Requests and their answers, joined to the conversations that they are part of.

- A request that begins with all the messages of an earlier one continues its conversation; others begin a new one.
  Cache marks, and the two ways to write a single text, make no difference. If a request shares only its first message,
  the system prompt has to be the same too.
- The answer is the reply, and its usage is the request's report. Without an answer, or if the next request has other
  calls than the answer, the reply is taken from the next request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.traces.building import Builder, content_hash
from workbench.traces.request_thread import Exchange, RequestThread


def exchange_threads(exchanges: Iterable[Exchange]) -> list[list[Exchange]]:
    """The exchanges by conversation, each in order."""
    found: list[list[Exchange]] = []
    latest: dict[tuple[str, ...], list[Exchange]] = {}
    """By the content of the last request of a conversation: that conversation."""
    for exchange in exchanges:
        held = list(_held(exchange))
        known = next((each for each in reversed(held) if each in latest), None)
        thread = latest.pop(known) if known else []
        if not thread:
            found.append(thread)
        thread.append(exchange)
        latest[held[-1]] = thread
    return found


def conversations_of(exchanges: Iterable[Exchange], format_name: str) -> list[Builder]:
    """The conversations of requests and their answers, still open for additions."""
    found = []
    for thread in exchange_threads(exchanges):
        builder = Builder(format_name)
        adding = RequestThread(builder, thread[0].dialect)
        for exchange, following in zip(thread, [*thread[1:], None], strict=True):
            adding.add_exchange(exchange, following)
        found.append(builder)
    return found


def _held(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """For each beginning of a request's messages: the key of a request with no more than that."""
    digest = ""
    for number, name in enumerate(exchange.names, 1):
        digest = content_hash([digest, name])
        yield (exchange.dialect, digest) if number > 1 else (exchange.dialect, digest, exchange.prompt_name)
