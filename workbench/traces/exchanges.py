"""Requests and their answers, one after another, as the conversations that they make.

- A request that begins with all the messages of an earlier one goes on with its conversation; the others begin one.
  Marks for the cache, and the two ways to write a single text, make no difference. Where a request shares no more than
  its first message, the system prompt has to be the same too.
- What was answered is the reply, and its usage is the request's report. Where there is no answer, or the next request
  tells of other calls than it had, the reply is what the next request says it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.traces.building import Builder, content_hash
from workbench.traces.request_thread import Exchange, RequestThread


def threads(exchanges: Iterable[Exchange]) -> list[list[Exchange]]:
    """The exchanges by conversation, each in their order."""
    found: list[list[Exchange]] = []
    latest: dict[tuple[str, ...], list[Exchange]] = {}
    """By what the last request of a conversation held: that conversation."""
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
    """The conversations that requests and their answers make, still open for what is beside them."""
    found = []
    for thread in threads(exchanges):
        builder = Builder(format_name)
        adding = RequestThread(builder, thread[0].dialect)
        for exchange, following in zip(thread, [*thread[1:], None], strict=True):
            adding.add(exchange, following)
        found.append(builder)
    return found


def _held(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """For each beginning of a request's messages: what a request that held no more is known by."""
    digest = ""
    for number, name in enumerate(exchange.names, 1):
        digest = content_hash([digest, name])
        yield (exchange.dialect, digest) if number > 1 else (exchange.dialect, digest, exchange.prompt_name)
