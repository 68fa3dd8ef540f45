"""Describes what a policy does to requests in the proxy, and what it would change in a request already sent."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.config.text import counted, percent
from workbench.context.policy import MaskingPolicy, TruncationPolicy
from workbench.context.setup import Setup
from workbench.log.events import DialectName
from workbench.proxy.batches import seen_results
from workbench.proxy.body_plans import plan_body
from workbench.wire.rewriting import items_in

NOTHING = "neither masks nor cuts results: requests pass as they are"


def in_words(setup: Setup, batch_tokens: int) -> str:
    """Describe what a policy does to requests, without its name."""
    policy = setup.loaded.policy
    done = [*filter(None, (_masking(policy.masking), _truncation(policy.truncation)))]
    if not done:
        return NOTHING
    own = policy.masking.batch_tokens
    if policy.masking.batch_ratio and setup.model:
        own = min(own, int(setup.limits.window * policy.masking.batch_ratio))
    wait = max(batch_tokens, own if policy.masking.keep_first or policy.masking.keep_last else 0)
    return f"{' and '.join(done)}, as soon as that frees {wait:,} tokens at once"


def _masking(knobs: MaskingPolicy) -> str:
    if not knobs.keep_first and not knobs.keep_last:
        return ""
    numbers = (("first", knobs.keep_first), ("last", knobs.keep_last))
    kept = [f"the {which}" + (f" {number}" if number > 1 else "") for which, number in numbers if number]
    where = " of the turn" if knobs.scope == "turn" else ""
    return f"masks results of tools but for {' and '.join(kept)}{where}"


def _truncation(knobs: TruncationPolicy) -> str:
    match knobs.strategy:
        case "none":
            return ""
        case "lines":
            return f"cuts results over {knobs.max_lines:,} lines or {knobs.max_bytes:,} bytes"
    share = f" or {percent(knobs.max_ratio)} of the window" if knobs.max_ratio else ""
    return f"cuts results over {knobs.max_tokens:,} tokens{share}"


class PolicyPreview(NamedTuple):
    """What a policy would change in a request of a session, compared with how it was sent."""

    tokens: int
    """The tokens of the request that was sent."""
    masked: int
    cut: int
    """Results that were sent whole and would be masked or cut."""
    freed: int
    """Tokens saved; negative if more would be sent."""
    whole: int
    """Results that were masked or cut and would be sent whole."""
    cache: int
    """Tokens of the latest request, as it was sent, from the first change on: the cache no longer serves them."""
    is_due: bool
    """Whether the next request would begin a batch; otherwise the changes wait for more."""

    def __str__(self) -> str:
        if not self.masked and not self.cut and not self.whole:
            return f"the latest request (about {self.tokens:,} tokens) would be sent as it was"
        done = [
            *([f"{counted(self.masked, 'result')} masked"] if self.masked else ()),
            *([f"{counted(self.cut, 'result')} cut"] if self.cut else ()),
            *([f"{counted(self.whole, 'result')} whole again"] if self.whole else ()),
        ]
        size = f"{self.freed:,} of {self.tokens:,} tokens freed" if self.freed >= 0 else f"{-self.freed:,} tokens more"
        size = f"about {size}"
        summary = f"{', '.join(done)}, {size}; once, about {self.cache:,} tokens are not read from the cache"
        wait = "" if self.is_due else "; it waits until a batch is due"
        return f"in the latest request: {summary}{wait}"


def preview_policy(
    dialect: DialectName,
    asked: dict[str, Any],
    sent: dict[str, Any],
    setup: Setup,
    batch_tokens: int,
    *,
    masking: bool = True,
) -> PolicyPreview:
    """`asked`: the agent's request; `sent`: the request that was sent; without `masking` all is sent unchanged."""
    planned, count = plan_body(dialect, asked, setup), setup.counter.count
    seen = {item.path for item in seen_results(planned)} if masking else set()
    wanted = {path: change for path, change in planned.changes().items() if path in seen}
    whole = {item.path: item.text for item in planned.items}
    went = {item.path: item.text for item in items_in(dialect, sent)}
    now = went if went.keys() == whole.keys() else whole
    then = whole | {path: change.text for path, change in wanted.items()}
    changed = [path for path in whole if now[path] != then[path]]
    fresh = [path for path in changed if path in wanted and now[path] == whole[path]]
    sizes = {path: count(text).tokens for path, text in now.items()}
    first = [*whole].index(changed[0]) if changed else len(whole)
    freed = sum(wanted[path].freed for path in fresh)
    return PolicyPreview(
        sum(sizes.values()),
        sum(wanted[path].state == "masked" for path in fresh),
        sum(wanted[path].state == "truncated" for path in fresh),
        sum(sizes[path] - count(then[path]).tokens for path in changed),
        sum(path not in wanted for path in changed),
        sum(sizes[path] for path in [*whole][first:]),
        bool(fresh) and freed >= batch_tokens,
    )
