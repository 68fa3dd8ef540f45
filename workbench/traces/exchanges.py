"""Builds conversations from requests and their answers.

- A request that begins with all the messages of an earlier one continues its conversation; others begin a new one.
  Cache marks make no difference, nor whether a single text is in a list. If the earlier request has only one message,
  the system prompt has to be the same too.
- The model's reply, and the usage of the request, are read from the answer. Without an answer, or if the next request
  repeats it with other calls, the reply is read from the next request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.traces.building import Builder, content_hash
from workbench.traces.request_thread import Exchange, RequestThread


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


def conversations_of(exchanges: Iterable[Exchange], format_name: str) -> list[Builder]:
    """Build the conversations of the exchanges. The caller may add more events to the builders."""
    found = []
    for thread in exchange_threads(exchanges):
        builder = Builder(format_name)
        adding = RequestThread(builder, thread[0].dialect)
        for exchange, following in zip(thread, [*thread[1:], None], strict=True):
            adding.add_exchange(exchange, following)
        found.append(builder)
    return found


def _held(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """Yield a key for the first message of a request, the first two, and so on. The last key identifies the request."""
    digest = ""
    for number, name in enumerate(exchange.names, 1):
        digest = content_hash([digest, name])
        yield (exchange.dialect, digest) if number > 1 else (exchange.dialect, digest, exchange.prompt_name)
