"""What lies on the bench: one source, planned under one policy after another. Knows nothing of the screen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.context.load import DEFAULT, load_policy, preset_names
from workbench.context.plan import ContextPlan
from workbench.models.ledger import Ledger
from workbench.models.tokens import TokenCounter
from workbench.traces.desk import Desk
from workbench.traces.source import Source
from workbench.tui.insight import Insight, RequestMark


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
    insight: Insight | None = None
    """Whom to ask for what a plan does not hold; None: nobody."""
    requests: Sequence[RequestMark] = ()
    """The requests one can step back to, oldest first."""
    at: int | None = None
    """The request that is shown, by its place among them; None: the context as it is now."""
    before: ContextPlan | None = None
    """The request before the one that is shown, to tell what changed; None: there is none, or now is shown."""
    compact_at: int = 0
    """From how many tokens on the policy compacts; 0: by size it does not."""
    ledger: Ledger | None = None
    fixed: str = ""
    """Why nothing can be changed; empty: it can."""


class Bench:
    """One source and the policies it can be planned under. Reading and planning are too slow for the screen itself."""

    def __init__(self, desk: Desk, options: Namespace, ref: str) -> None:
        """`ref` names a session or a file; `options` are those of `workbench open`, or fewer."""
        self.name = ref
        """What people call the source."""
        self.policies: tuple[str, ...] = ()
        """The policy it was opened with, then the presets; known once it was read."""
        self._desk = desk
        self._options = options
        self._ref = ref
        self._source: Source | None = None
        self._counter: TokenCounter | None = None

    @property
    def weight(self) -> int:
        """About how many bytes there are to read."""
        return self._desk.weight(self._ref)

    def read(self) -> Source:
        """Read the source, once. What is wrong with it, or with the policy it asks for, is told here."""
        if self._source is None:
            source = self._desk.source(self._ref)
            asked: str | None = getattr(self._options, "policy", None)
            opened = asked or source.policy or self._desk.settings.policy or DEFAULT
            load_policy(opened, sets=getattr(self._options, "set", None) or ())
            self.policies = tuple(dict.fromkeys([opened, *preset_names()]))
            if not source.is_file:
                info = self._desk.store.info(self._ref)
                self.name = f"{info.title} ({info.id})" if info.title else info.id
            self._source = source
        return self._source

    def plan(self, policy: str) -> Shown:
        """Plan the source under a policy; what was set with `--set` and the like holds under each."""
        source = self.read()
        setup = self._desk.set_up(Namespace(**{**vars(self._options), "policy": policy}), source)
        if self._counter is not None:
            # The model is the same, so the counts are: a text is encoded once, not once per policy.
            setup = replace(setup, counter=self._counter)
        self._counter = setup.counter
        made = setup.plan(source.events, live=source.live)
        return Shown(made, policy, setup.loaded.policy.description, setup.counter.note, len(source.events))


def newest_session(desk: Desk) -> str:
    """The session that changed last; empty where there is none."""
    found = desk.store.list(limit=1)
    return found[0].id if found else ""
