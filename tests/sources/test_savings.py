"""What changes on the way were worth: by what reached the model, and by what its provider reported."""

from __future__ import annotations

from typing import Any

from workbench.log.events import Hold
from workbench.sources.recorded import ListedRequest
from workbench.sources.requests import RequestMark
from workbench.sources.savings import left_out, proxy_policy_figures, session_savings

CHANGED = frozenset({"a result"})


def asked(seq: int, tokens: int, **more: Any) -> ListedRequest:
    """One that goes as it is."""
    return ListedRequest(seq, RequestMark(seq - 1, 1, "m", seq=seq, request=seq, **more), tokens, None)


def changed(seq: int, tokens: int, instead_of: int, **more: Any) -> ListedRequest:
    """What is sent in place of another."""
    return asked(seq, tokens, instead_of=instead_of, **more)._replace(changed=CHANGED)


BEGIN = [
    asked(1, 1_000, reported=1_000),
    asked(2, 1_200),
    changed(3, 900, 2, reported=900, cached=700),
]


def figures(*more: ListedRequest) -> tuple[int, int, int, int | None]:
    """Requests changed, tokens not sent, batches, tokens of cache."""
    found = session_savings([*BEGIN, *more])
    assert found is not None
    return found.changed, found.not_sent, found.batches, found.cache_lost


def test_a_change_costs_what_is_not_read_from_the_cache() -> None:
    assert figures() == (1, 300, 1, 300)


def test_what_was_not_sent_is_an_estimate_and_says_how_far_it_may_be_off() -> None:
    found = session_savings(BEGIN, 0.07)
    assert str(found).startswith("changed on the way: 1 request, about 300 tokens (± 7.0 %) not sent, 1 batch;")
    assert str(proxy_policy_figures("layers", BEGIN)).startswith(
        "layers: saved about 300 tokens in 1 request; 1 batch,"
    )


def test_the_tokens_of_cache_are_named_where_a_cache_was_reported() -> None:
    uncached = [asked(1, 1_000, reported=1_000), asked(2, 1_200), changed(3, 900, 2, reported=900)]
    assert str(session_savings(BEGIN)).endswith(" not sent, 1 batch; 300 tokens were not read from the cache for it")
    assert str(session_savings(uncached)).endswith(" not sent, 1 batch")
    assert str(proxy_policy_figures("layers", BEGIN)).endswith("; 1 batch, cost 300 tokens of cache")
    assert str(proxy_policy_figures("layers", uncached)).endswith("; 1 batch, no cache was reported")


def test_what_the_last_request_was_sent_without_is_left_out() -> None:
    assert left_out(BEGIN) == 300
    assert left_out([*BEGIN, asked(4, 1_300)]) == 300, "it is still on its way"
    assert left_out([*BEGIN, asked(4, 1_300, reported=1_300)]) == 0
    assert left_out([]) == 0


def test_to_take_it_back_costs_as_well() -> None:
    assert figures(asked(4, 1_300, reported=1_300, cached=600)) == (1, 300, 1, 300 + 300), "one edit is one batch"


def test_what_somebody_answered_or_the_agent_gave_up_was_not_sent() -> None:
    for end in ("answered", "gone"):
        assert figures(asked(4, 1_300, hold=Hold(4, "every", end=end))) == figures()


def test_what_is_held_or_on_its_way_says_nothing_yet() -> None:
    assert figures(asked(4, 1_300)) == figures()
    assert figures(asked(4, 1_300), changed(5, 1_000, 4)) == (2, 600, 1, 300)


def test_what_the_provider_refused_says_nothing_of_the_cache() -> None:
    refused = [asked(1, 1_000, reported=1_000), asked(2, 1_200), changed(3, 900, 2)]
    again = [asked(4, 1_200), changed(5, 900, 4, reported=900, cached=950)]
    found = session_savings([*refused, *again])
    assert found is not None
    assert (found.changed, found.batches, found.cache_lost) == (2, 1, 50)


def test_the_policy_still_holds_while_the_next_request_waits() -> None:
    held = proxy_policy_figures("layers", [*BEGIN, asked(4, 1_300)])
    back = proxy_policy_figures("layers", [*BEGIN, asked(4, 1_300, reported=1_300)])
    assert held is not None
    assert back is not None
    assert (held.still, back.still) == (True, False)
