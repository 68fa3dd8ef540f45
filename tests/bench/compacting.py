"""Compaction without a model: selecting, digesting and auditing a long transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from bench import material
from bench.harness import Row, Scale, Work, beside, in_units, rounds, timed
from workbench.compaction.audit import audit_summary
from workbench.compaction.digest import make_digest
from workbench.compaction.selection import select_range
from workbench.compaction.values import SelectedRange
from workbench.context.plan import ContextPlan
from workbench.context.planner import plan
from workbench.log.events import Event

LIMIT = 21
"""For the longer transcript."""
LINEAR = 2.5
"""Twice the length may take so many times as long."""
TEXTS = 4
"""The transcript is as long as so many of the texts that are truncated: 4 MB."""
SUMMARY = 2_000
"""Tokens of the digest."""
POLICY = "confirm"
"""Everything is summarised, and no result is cut before: the most there is to read."""


def _events(characters: int) -> list[Event]:
    """An agent's log of so many characters, the texts of its calls and messages counted."""
    each = material.MESSAGE_SIZE + (material.LARGE_SIZE - material.MESSAGE_SIZE) / material.LARGE_EVERY
    return material.number(islice(material.messages(), round(characters / each)))


class _Transcript:
    """A transcript with its plan, its cut and its digest; all counts are known by then."""

    def __init__(self, characters: int) -> None:
        self.policy = material.policy(POLICY)
        self.limits = material.model_limits(self.policy)
        self.counter = material.shared_counter()
        self.events = _events(characters)
        self.plan: ContextPlan = plan(self.events, self.policy, self.limits, self.counter)
        self.selected: SelectedRange = self.select()
        self.digest: str = make_digest(self.selected, SUMMARY, self.counter)

    def select(self) -> SelectedRange:
        """The cut, the plan's rows made for it included."""
        return select_range(self.plan, self.events, self.policy.compaction, self.limits, self.counter)


def run(scale: Scale) -> Iterator[Row]:
    """A transcript of a length and one of half of it, in turns."""
    characters = TEXTS * scale.text
    works: dict[str, Work] = {}
    for name, length in (("half", characters // 2), ("whole", characters)):
        made = _Transcript(length)
        steps: dict[str, Callable[[], object]] = {
            "selection": made.select,
            "digest": partial(make_digest, made.selected, SUMMARY, made.counter),
            "audit": partial(audit_summary, made.selected, made.digest),
        }
        for step, work in steps.items():
            works[f"{step} {name}"] = partial(timed, work)
    found = rounds(works, scale.repeats)
    size = f"{characters / 1e6:g} MB"
    for step in ("selection", "digest", "audit"):
        yield in_units(f"{step} of {size}", found, f"{step} whole", LIMIT)
        yield beside(f"{step} of {size}, by half of it", found, f"{step} whole", f"{step} half", "ours", LINEAR)
