"""When to compact: the triggers with their figures, the mode, and the brakes.

A trigger only says that it is time. The mode says who decides. The brakes against loops are the limit per session, the
cool-down and the circuit breaker; what holds a fired trigger back is put into words.

Two triggers work whatever the policy's thresholds are. One fires if the plan had to leave something out: the
reserve may be so large that dropping begins below the threshold, which would then never be reached. The other fires if
a request is too long (`overflow`). A full window must not mean a dead session: the cool-down does not apply then, and
where limit or breaker would, the digest replaces the summariser: it costs nothing and cannot fail as a model does. One
request is never tried more than twice: as usual, then by the digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from workbench.compaction.record import CompactionRecord
from workbench.compaction.values import CompactionDecision, TriggerCheck, TriggerChecks
from workbench.config.text import counted, percent
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy, Mode
from workbench.log.events import Event, Request, Usage

ATTEMPTS = 2
"""Attempts for one request that is too long."""


class MeasuredTokens(NamedTuple):
    """The tokens that a policy compares with its thresholds."""

    tokens: int
    what: str
    """Their source, if they are not the plan's."""


def measure_size(
    plan: ContextPlan, events: Sequence[Event], record: CompactionRecord, policy: CompactionPolicy
) -> MeasuredTokens:
    """The numerator of the thresholds."""
    total = plan.size
    match policy.measure:
        case "plan":
            return MeasuredTokens(total, "")
        case "since_compaction":
            since = "the last compaction" if record.covered else "the beginning"
            return MeasuredTokens(tokens_behind(plan, record.covered), f"events since {since}")
        case "reported":
            return _reported(total, events, record)


def tokens_behind(plan: ContextPlan, covered: int) -> int:
    """Tokens of the conversation after an event; 0: of all of it."""
    return plan.items.tokens_behind(covered) if covered else plan.budget.history + plan.budget.turn


def _reported(total: int, events: Sequence[Event], record: CompactionRecord) -> MeasuredTokens:
    """The last report. One from before a compaction, or its undo, does not apply to the request as it is now."""
    for at in range(len(events) - 1 if record.reported > record.reshaped else -1, -1, -1):
        event = events[at]
        if event.seq <= record.reshaped:
            break
        if isinstance(event.body, Usage) and not _is_elsewhere(events, at, event.body.request):
            if event.body.prompt is not None:
                return MeasuredTokens(event.body.prompt, "reported by the provider")
            return MeasuredTokens(event.body.estimate, "by our own count, as the provider reported none")
    return MeasuredTokens(total, "by our own count, as nothing was reported yet")


def _is_elsewhere(events: Sequence[Event], at: int, request: int) -> bool:
    """Whether the report at an index is a sub-agent's, by its request."""
    asked = at - (events[at].seq - request)
    body = events[asked].body if request and asked >= 0 and events[asked].seq == request else None
    return isinstance(body, Request) and body.is_elsewhere


# The triggers


def check_triggers(
    plan: ContextPlan,
    events: Sequence[Event],
    record: CompactionRecord,
    policy: CompactionPolicy,
    *,
    turn_over: bool = True,
    overflow: bool = False,
) -> TriggerChecks:
    """Every trigger that the policy sets, with the reason in numbers, and the two that always exist.

    `turn_over`: nobody is working on the newest turn. `overflow`: the provider found the request too long.
    """
    now = measure_size(plan, events, record, policy) if policy.token_threshold or policy.threshold else None
    return TriggerChecks(
        turns=_turns(record, policy.turns, turn_over) if policy.turns else None,
        tokens=_tokens(now, policy) if policy.token_threshold and now else None,
        threshold=_threshold(now, plan, policy) if policy.threshold and now else None,
        left_out=_left_out(plan),
        overflow=_overflow(plan, overflow),
    )


def _turns(record: CompactionRecord, theta: int, turn_over: bool) -> TriggerCheck:
    done = _finished(record.turns, turn_over or record.failed)
    since = "the last compaction" if record.covered else "the beginning"
    return TriggerCheck("turns", done >= theta, f"{done} of {theta} turns since {since}", done, theta, theta)


def _finished(opened: int, turn_over: bool) -> int:
    return opened if turn_over else max(0, opened - 1)


def compacts_at(policy: CompactionPolicy, plan: ContextPlan) -> int:
    """The size of a request at which it is compacted: the policy's, or one token more than `plan.room` if that is less;
    0: never by itself."""
    if not policy.automatic:
        return 0
    most = plan.room + plan.limits.unattributed + 1
    by_policy = 0 if policy.measure == "since_compaction" else size_limit(policy, plan.limits.window)
    return min(by_policy or most, most)


def size_limit(policy: CompactionPolicy, window: int) -> int:
    """The smallest number of tokens, by the policy's measure, at which a trigger fires; 0: none fires by size."""
    if policy.mode == "off":
        return 0
    bounds = (Fraction(policy.token_threshold), share_of_window(policy) * max(window, 1))
    return min((_fires_at(bound, policy) for bound in bounds if bound), default=0)


def share_of_window(policy: CompactionPolicy) -> Fraction:
    """The policy's threshold as it is written: 0.7 as a float is a little less than 70 %."""
    return Fraction(str(policy.threshold))


def _fires_at(bound: Fraction, policy: CompactionPolicy) -> int:
    """The smallest whole number over the bound, or at the bound if that is enough."""
    return ceil(bound) if policy.inclusive else floor(bound) + 1


def _tokens(now: MeasuredTokens, policy: CompactionPolicy) -> TriggerCheck:
    limit = policy.token_threshold
    fires_at = _fires_at(Fraction(limit), policy)
    fired = now.tokens >= fires_at
    words = f"{now.tokens:,} tokens {_sign(fired, policy)} {limit:,}"
    return TriggerCheck("tokens", fired, words + _aside(now.what), now.tokens, limit, fires_at)


def _threshold(now: MeasuredTokens, plan: ContextPlan, policy: CompactionPolicy) -> TriggerCheck:
    window, bound = plan.limits.window, share_of_window(policy)
    fires_at = _fires_at(bound * max(window, 1), policy)
    fired = now.tokens >= fires_at
    guess = "the window is a guess" if plan.limits.window_source == "guess" else ""
    share = exact_percent(Fraction(now.tokens, max(window, 1)), bound)
    words = f"{now.tokens:,} of {window:,} = {share} {_sign(fired, policy)} {exact_percent(bound)}"
    limit = fires_at if policy.inclusive else fires_at - 1
    return TriggerCheck("threshold", fired, words + _aside(now.what, guess), now.tokens, limit, fires_at)


def _sign(fired: bool, policy: CompactionPolicy) -> str:
    if policy.inclusive:
        return ">=" if fired else "<"
    return ">" if fired else "<="


def exact_percent(share: Fraction, bound: Fraction | None = None) -> str:
    """A share in percent; with a bound, with enough digits to be visibly on the right side."""
    value, digits = share * 100, 1
    if bound is None:
        while (value * 10**digits).denominator != 1 and digits < 6:
            digits += 1
        return f"{Decimal(round(value * 10**digits)).scaleb(-digits).normalize():f} %"
    while _order(rounded := Fraction(round(value * 10**digits), 10**digits), bound * 100) != _order(value, bound * 100):
        digits += 1
    return f"{Decimal(int(rounded * 10**digits)).scaleb(-digits):f} %"


def _order(a: Fraction, b: Fraction) -> int:
    return (a > b) - (a < b)


def _aside(*remarks: str) -> str:
    remark = "; ".join(filter(None, remarks))
    return f" ({remark})" if remark else ""


def _left_out(plan: ContextPlan) -> TriggerCheck:
    """Fires if the stages had to leave out something that a summary could have kept.

    Known by the notice, which a policy can switch off (`history.notice`), and then history is dropped silently; and by
    missing iteration groups in the turn.
    """
    total, capacity = plan.size, plan.room + plan.limits.unattributed
    notice = next((item for item in plan.items.fixed if item.id == "notice"), None)
    groups = plan.items.dropped_groups
    gone = [notice.edits[0].why] if notice else []
    gone += [f"{counted(groups, 'iteration group')} of the turn left out"] if groups else []
    size = f"the request has {total:,} of the {capacity:,} that leave the answer its room"
    words = f"{' and '.join(gone) or 'nothing is left out'}; {size}"
    return TriggerCheck("threshold", bool(gone), words, total, capacity, capacity + 1)


def _overflow(plan: ContextPlan, reported: bool) -> TriggerCheck:
    total, capacity = plan.uncut_size, plan.limits.capacity + plan.limits.unattributed
    fired = reported or plan.overflows
    if reported:
        why = f"the provider found {total:,} tokens too long; a request may have {capacity:,} by our count"
    else:
        why = f"{total:,} tokens {'>' if fired else '<='} {capacity:,}, the most that a request may have"
    return TriggerCheck("overflow", fired, why, total, capacity, capacity + 1)


# The decision


def compaction_question(tokens: int, window: int) -> str:
    """The question before a compaction. The default answer is no."""
    share = percent(tokens / max(window, 1)).replace(" ", "")
    return f"Context usage at {share} ({tokens:,}/{window:,} tokens). Compact conversation?"


def decide_compaction(
    plan: ContextPlan,
    events: Sequence[Event],
    record: CompactionRecord,
    policy: CompactionPolicy,
    *,
    headless: bool,
    turn_over: bool,
    overflow: bool = False,
) -> CompactionDecision:
    """The joint decision of triggers, mode and brakes. `headless`: nobody can be asked."""
    looked = check_triggers(plan, events, record, policy, turn_over=turn_over, overflow=overflow)
    fired = [check for check in looked.all if check.fired]
    if not fired:
        return CompactionDecision("none", None, "no trigger fired", looked)
    is_overflow = looked.overflow.fired
    first = looked.overflow if is_overflow else fired[0]
    urgent = overflow or plan.verdict.status == "too_large"
    mode = _mode(policy, headless, is_overflow, urgent)
    held = _by_mode(mode, headless)
    digest = False
    if not held:
        brakes = _brakes(record, policy)
        if is_overflow:
            digest = bool(brakes) or record.attempts > 0
            held = _by_attempts(record)
        elif looked.left_out.fired and _goes_on(record, turn_over):
            first, held = looked.left_out, brakes
        else:
            held = brakes or _by_cooldown(record, policy, turn_over) or _by_failure(record, turn_over)
    if held:
        return CompactionDecision("none", first.trigger, f"{first.why}; {held}", looked, held=held)
    if mode == "auto":
        return CompactionDecision("compact", first.trigger, first.why, looked, digest=digest, urgent=urgent)
    used = plan.size
    if policy.measure == "reported" and not is_overflow:
        used = measure_size(plan, events, record, policy).tokens
    return CompactionDecision(
        "ask",
        first.trigger,
        first.why,
        looked,
        compaction_question(used, plan.limits.window),
        digest=digest,
        urgent=urgent,
    )


def _mode(policy: CompactionPolicy, headless: bool, overflow: bool, urgent: bool) -> Mode:
    """The mode that applies here.

    If a request cannot be sent (`urgent`), a person is asked even in mode `manual`. If one is too long, `confirm` goes
    ahead where nobody can say no: a compaction can be undone.
    """
    mode = policy.mode
    if mode == "confirm" and headless:
        return policy.headless_mode or ("auto" if overflow else "confirm")
    if mode == "manual" and urgent and not headless:
        return "confirm"
    return mode


def _by_mode(mode: Mode, headless: bool) -> str:
    match mode:
        case "off":
            return "not done, because compaction is off"
        case "manual":
            return "not done by itself, because the mode is manual"
        case "confirm" if headless:
            return "not done, because the mode is confirm and nobody can be asked"
        case _:
            return ""


def _brakes(record: CompactionRecord, policy: CompactionPolicy) -> str:
    """The limit and the circuit breaker. Neither applies to a compaction by hand, which does not come here."""
    if policy.max_compactions and record.counted >= policy.max_compactions:
        most = policy.max_compactions
        return f"held back by the limit: {record.counted} of {most} compactions in this session"
    if record.failures_in_a_row >= policy.max_failures:
        last = record.failures[-1]
        return (
            f"held back by the circuit breaker: {record.failures_in_a_row} failures in a row, and {policy.max_failures}"
            f" open it (the last, event {last.seq}: {last.kind}); a compaction by hand closes it"
        )
    return ""


def _by_cooldown(record: CompactionRecord, policy: CompactionPolicy, turn_over: bool) -> str:
    passed = _finished(record.turns_since_tried, turn_over)
    if not record.tried or passed >= policy.cooldown_turns:
        return ""
    since = f"since event {record.tried} (a compaction, an undo or a failed attempt)"
    return f"held back by the cool-down: {passed} of {policy.cooldown_turns} turns {since}"


def _by_failure(record: CompactionRecord, turn_over: bool) -> str:
    return "not done, because the turn failed" if turn_over and record.failed else ""


def _goes_on(record: CompactionRecord, turn_over: bool) -> bool:
    """Whether a turn that was compacted went on, and so has new things to summarise.

    One long turn of an agent may outgrow the window several times. The cool-down, which counts turns, would then let
    its iterations be dropped silently. After an undo it holds: the user does not want the compaction back at once.
    """
    made = record.entries[-1].event.seq if record.entries else 0
    return not turn_over and record.attempts == 0 and record.tried == made


def _by_attempts(record: CompactionRecord) -> str:
    if record.attempts < ATTEMPTS:
        return ""
    return f"held back, because {record.attempts} attempts for this request were made and it is still too long"
