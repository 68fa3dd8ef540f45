"""What the turns of a session are made with: the model, tools, approvals, hooks."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from workbench.agent.approvals import Approvals, Ask
from workbench.agent.compaction_runner import AskFirst
from workbench.agent.hooks import Hooks
from workbench.agent.serving import Fallbacks
from workbench.agent.tools.registry import Toolbox
from workbench.models.catalogue import Catalogue
from workbench.models.gateway import Gateway
from workbench.models.retry import RetrySchedule


class TurnServices(Struct, frozen=True):
    """What a turn needs besides the session and its setup."""

    gateway: Gateway
    toolbox: Toolbox
    approvals: Approvals
    ask: Ask | None = None
    """Asks the user to approve a call; None if no user can be asked: then only calls that are already allowed run."""
    report: Callable[[str, str], None] | None = None
    """Called with the id of a call and a piece of its command's output, as it arrives."""
    hooks: Hooks = field(default_factory=Hooks)
    schedule: RetrySchedule = field(default_factory=RetrySchedule)
    fallbacks: Fallbacks = field(default_factory=Fallbacks)
    ask_first: AskFirst | None = None
    """Asks before a compaction; None if no user can be asked: then the policy decides."""
    summariser: Gateway | None = None
    """The gateway to the model that summarises, if the policy names another one than the session's."""
    catalogue: Catalogue | None = None
    """Has the user's own models and prices."""
