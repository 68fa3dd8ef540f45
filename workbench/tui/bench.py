"""What lies on the bench: one source, planned under one policy after another. Knows nothing of the screen."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, replace

from workbench.context.load import DEFAULT, load_policy, preset_names
from workbench.context.plan import ContextPlan
from workbench.models.tokens import TokenCounter
from workbench.traces.desk import Desk
from workbench.traces.source import Source, open_source


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the screen draws. Compared by identity, because comparing two plans looks at every row."""

    plan: ContextPlan
    policy: str
    """The policy as it was asked for: a name or a path."""
    about_policy: str
    note: str
    """Whose tokenizer counted."""
    events: int
    """How long the log is, so that the widest sequence number is known without looking for it."""


class Bench:
    """One source and the policies it can be planned under. Its methods are slow: not for the screen's own thread."""

    def __init__(self, desk: Desk, options: Namespace, source: Source, name: str) -> None:
        self.name = name
        """What people call the source."""
        opened = getattr(options, "policy", None) or source.policy or desk.settings.policy or DEFAULT
        self.policies = tuple(dict.fromkeys([opened, *preset_names()]))
        """The policy it was opened with, then the presets."""
        self._desk = desk
        self._options = options
        self._source = source
        self._counter: TokenCounter | None = None

    def plan(self, policy: str) -> Shown:
        """Plan the source under a policy; what was set with `--set` and the like holds under each."""
        setup = self._desk.set_up(Namespace(**{**vars(self._options), "policy": policy}), self._source)
        if self._counter is not None:
            # The model is the same, so the counts are: a text is encoded once, not once per policy.
            setup = replace(setup, counter=self._counter)
        self._counter = setup.counter
        made = setup.plan(self._source.events, live=self._source.live)
        about = setup.loaded.policy.description
        return Shown(made, policy, about, setup.counter.note, len(self._source.events))


def open_bench(desk: Desk, options: Namespace) -> Bench | None:
    """The source that was asked for, else the session that changed last, else nothing."""
    ref: str | None = options.source
    if ref is None:
        newest = desk.store.list(limit=1)
        if not newest:
            return None
        ref = newest[0].id
    source = open_source(ref, desk.store)
    bench = Bench(desk, options, source, _name(desk, source, ref))
    load_policy(
        bench.policies[0], sets=getattr(options, "set", None) or ()
    )  # a mistake in it is told before the screen
    return bench


def _name(desk: Desk, source: Source, ref: str) -> str:
    if source.is_file:
        return ref
    info = desk.store.info(ref)
    return f"{info.title} ({info.id})" if info.title else info.id
