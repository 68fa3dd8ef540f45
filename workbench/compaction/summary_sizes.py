"""How large summaries may be: one alone, and all together."""

from __future__ import annotations

from workbench.context.budget import Limits
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy

UNCAPPED = 4_000
"""The largest summary if the policy has no cap: anything longer is no summary."""
DIVISOR_FOR_ONE, DIVISOR_FOR_ALL = 4, 2
"""What the room that the fixed slots leave is divided by: one summary has at most a quarter, all together half."""


def fixed_tokens(plan: ContextPlan) -> int:
    """What no compaction frees: system prompt, instructions, memory and tools."""
    budget = plan.budget
    return budget.system + budget.instructions + budget.memory + budget.tools


def summary_cap(policy: CompactionPolicy, limits: Limits, source_tokens: int, fixed: int = 0) -> int:
    """The most tokens of a summary: the policy's cap, at most half of its source, and at most a quarter of the room
    that the fixed slots leave a request."""
    bounds = [policy.summary_tokens] if policy.summary_tokens else []
    if policy.summary_ratio:
        bounds.append(int(limits.window * policy.summary_ratio))
    return max(1, min(*(bounds or [UNCAPPED]), source_tokens // 2, (limits.capacity - fixed) // DIVISOR_FOR_ONE))


def summaries_exceed_share(plan: ContextPlan, policy: CompactionPolicy, limits: Limits) -> bool:
    """Whether the summaries in a request, together with one more, would take more than their share of the room."""
    fixed = fixed_tokens(plan)
    room, summaries = limits.capacity - fixed, plan.budget.summaries
    return summaries > 0 and summaries + summary_cap(policy, limits, room, fixed) > room // DIVISOR_FOR_ALL


def summaries_can_shrink(plan: ContextPlan, limits: Limits) -> bool:
    """Whether the summaries in a request are longer than one alone may be."""
    return plan.budget.summaries > max(1, (limits.capacity - fixed_tokens(plan)) // DIVISOR_FOR_ONE)
