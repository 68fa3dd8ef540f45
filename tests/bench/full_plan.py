"""A plan from scratch: with every count known, and with nothing known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from bench import material, peers
from bench.harness import Row, Scale, Work, beside, rounds, timed
from workbench.config.values import replace
from workbench.context import render
from workbench.context.planner import plan
from workbench.context.policy import HistoryPolicy, Policy
from workbench.log.events import Event
from workbench.models.tokens import TokenCounter

TRIM = replace(
    Policy("trim"), history=HistoryPolicy(mode="fit", max_tokens=peers.BUDGET, turn_first=True, notice=False)
)
"""What the peer does and no more: the newest messages that fit, nothing cut or masked."""


AT_MOST = {"same work": 0.7, "workbench": 2.0}
"""Of the peer that remembers its counts in the same way, by policy."""


def policies() -> dict[str, Policy]:
    """The peer's work alone, and our default."""
    return {"same work": TRIM, "workbench": material.policy("workbench")}


def request(events: Sequence[Event], policy: Policy, counter: TokenCounter) -> list[render.Message]:
    """From the events to the messages of the request."""
    made = plan(events, policy, material.model_limits(policy), counter, model=material.MODEL)
    return render.render_messages(made)


def known(scale: Scale) -> Iterator[Row]:
    """Every count known: only the deciding is left."""
    events = material.log(scale.some)
    messages = peers.as_langchain(events)
    memos = peers.memoised()
    counter = material.shared_counter()
    works: dict[str, Work] = {memo: partial(timed, partial(peers.trim, messages, each)) for memo, each in memos.items()}
    for name, policy in policies().items():
        works[name] = partial(timed, partial(request, events, policy, counter))
    for gc_on in (False, True):
        found = rounds(works, scale.repeats, gc_on=gc_on)
        for name in policies():
            label = f"full plan, counts known, {name}" + (", collector on" if gc_on else "")
            for memo in memos:
                limit = AT_MOST[name] if memo == peers.SAME_WORK and not gc_on else None
                yield beside(label, found, name, memo, f"langchain trim, memoised {memo}", limit)


def new(scale: Scale) -> Iterator[Row]:
    """Nothing known: the cost of encoding, and what we add to it."""
    events = material.log(scale.some)
    texts = peers.texts_of(events)
    works: dict[str, Work] = {"peer": partial(timed, partial(peers.encode_all, texts))}
    for name, policy in policies().items():
        works[name] = partial(_new, events, policy)
    found = rounds(works, scale.slow_repeats, warm_up=False)
    for name in policies():
        yield beside(f"full plan, nothing known, {name}", found, name, "peer", "bare tiktoken", 1.1)


def _new(events: Sequence[Event], policy: Policy) -> float:
    counter = material.fresh_counter()
    return timed(lambda: request(events, policy, counter))
