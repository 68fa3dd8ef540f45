"""What the inspector draws: one plan, and what may be asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.context.plan import ContextPlan
from workbench.models.ledger import Ledger
from workbench.session.queries import RequestMark, SessionQueries


@dataclass(frozen=True, slots=True, eq=False)
class ContextView:
    """What the screen draws. Compared by identity, because comparing two plans looks at every row."""

    plan: ContextPlan
    policy: str
    """The policy as it was asked for: a name or a path."""
    about_policy: str
    note: str
    """Whose tokenizer counted."""
    events: int
    """How long the log is, so that the widest sequence number is known without looking for it."""
    queries: SessionQueries | None = None
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
