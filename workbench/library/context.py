"""The context of an agent's loop: messages are added, and the next request is what the policy makes of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from workbench.config.errors import Refused, WrongCall
from workbench.config.values import replace
from workbench.context.planner import Planner
from workbench.library.context_log import MemoryLog
from workbench.library.messages import (
    Message,
    MessageReader,
    check_given,
    given_head,
    is_system,
    known_dialect,
    plain_messages,
    read_system,
    read_tools,
    system_text,
)
from workbench.library.plain_values import bad_message, plain
from workbench.library.plans import Plan
from workbench.library.rendering import GivenMessages
from workbench.library.setups import ChosenPolicy, setup_for_call
from workbench.library.setups import policy as chosen_policy
from workbench.log.events import Body, Compaction, Event, Override, Revert, SlotContent
from workbench.wire.dialects import usage_in_any

if TYPE_CHECKING:
    from workbench.agent.compaction_runner import PlannedCompaction
    from workbench.compaction.values import CompactionDecision
    from workbench.library.compacting import CompactionWatch
    from workbench.library.stored_logs import StoredLog
    from workbench.library.summaries import CompactionResult, Summarise

REWRITTEN: Final = "the program that keeps the conversation no longer has it"


class _Added(NamedTuple):
    """A message as it was given, and its events."""

    value: Any
    first: int
    last: int
    """Below `first` if it has none."""


class Context:
    """What one agent's model sees. Threads may share it, also while a compaction runs."""

    def __init__(
        self,
        policy: str | ChosenPolicy = "workbench",
        model: str = "gpt-4o",
        window: int | None = None,
        tools: Sequence[Any] | None = None,
        system: Any = None,
        store: str | os.PathLike[str] | None = None,
        *,
        dialect: str | None = None,
        reserve: int | None = None,
        thinking: bool | None = None,
        **knobs: Any,
    ) -> None:
        """See `plan` for what they mean.

        `store`: the title of a session in the program's store, or the path of a file; without it nothing is written.
        A session that is there is continued.
        """
        self._lock = RLock()
        self._setup = setup_for_call(policy, model, window, reserve, thinking, **knobs)
        self._chosen = chosen_policy(policy, **knobs)
        self._asked_thinking = thinking
        head: list[Body] = [*read_system(system), *read_tools(tools)]
        self._head = given_head(system, tools)
        self._reader = MessageReader(known_dialect(dialect), self._head.dialect)
        self._given = GivenMessages()
        self._added: list[_Added] = []
        self._compacting = False
        self._nothing_at = -1
        """How many events there were when a compaction found nothing to summarise."""
        self._watch: CompactionWatch | None = None
        self._requested = (0, 0)
        """The tokens of the last request, and the last event it was made from."""
        self._planned: Plan | None = None
        self._log: MemoryLog | StoredLog = MemoryLog()
        before: list[Event] = []
        if store is not None:
            from workbench.library.stored_logs import StoredLog, changed_settings, settings_of  # late: SQLite

            self._log = stored = StoredLog(store)
            before = stored.session.events()
            self._reader.run = f"after {len(before)}" if before else ""
            head = [*changed_settings(settings_of(self._setup, self._chosen, window), before), *head]
        self._planner = self._new_planner(before)
        self._append(*head)

    def _new_planner(self, events: Iterable[Event]) -> Planner:
        self._thinking = self._reader.dialect.returns_thinking if self._asked_thinking is None else self._asked_thinking
        self._own_tools = self._head.dialect is self._reader.dialect
        return self._setup.planner(events, thinking=self._thinking, own_tools=self._own_tools)

    def _append(self, *bodies: Body) -> tuple[Event, ...]:
        events = self._log.append(*bodies)
        self._planner.extend(events)
        self._planned = None
        return events

    # Adding

    def add(self, message: Message) -> None:
        """Add a message: a dict in any dialect, an SDK's own object, a whole answer, or a text of the user's.

        Raises BadMessage with the path of what is wrong; then nothing was added.
        """
        with self._lock:
            self._add([plain(message, "message")], ["message"])

    def extend(self, messages: Iterable[Message]) -> None:
        """Add many messages; none if one of them is wrong."""
        with self._lock:
            values = plain_messages(messages)
            self._add(values, [f"messages[{at}]" for at in range(len(values))])

    def follow(self, messages: Iterable[Message]) -> None:
        """Make the conversation these messages, for a program that keeps its own list: new messages are added.

        System messages at the beginning are the system prompt. If another message changed, it and all after it are
        left out of the request, and added as they are now; compactions that summarised any of them are undone.
        """
        with self._lock:
            values = plain_messages(messages)
            first = next((at for at, each in enumerate(values) if not is_system(each)), len(values))
            for at, value in enumerate(values):
                check_given(value, f"messages[{at}]")
            if first:
                self.configure(system="\n\n".join(filter(None, (system_text(each) for each in values[:first]))))
            talk, known = values[first:], [each.value for each in self._added]
            both = zip(known, talk, strict=False)
            same = next((at for at, (old, new) in enumerate(both) if old != new), min(len(known), len(talk)))
            gone = [each for each in self._added[same:] if each.last >= each.first]
            if gone:
                self._undo_compactions_of(gone[0].first)
                self._append(Override("exclude", gone[0].first, gone[-1].last, why=REWRITTEN))
            del self._added[same:]
            self._add(talk[same:], [f"messages[{at}]" for at in range(first + same, len(values))])

    def _undo_compactions_of(self, first: int) -> None:
        """Undo the compactions whose summary has anything of this event or a later one."""
        while True:
            made = reversed(self._compactions().record(self._planner.events).entries)
            stale = next((each for each in made if each.status == "standing" and each.range[1] >= first), None)
            if stale is None:
                return
            self._append(Revert(stale.event.seq))

    def _add(self, values: Sequence[Any], wheres: Sequence[str]) -> None:
        for value, where in zip(values, wheres, strict=True):
            check_given(value, where)
        read = [self._reader.read_plain(value, where) for value, where in zip(values, wheres, strict=True)]
        events = iter(self._append(*(body for each in read for given in each for body in given.bodies)))
        following = len(self._planner.events) + 1
        for value, each in zip(values, read, strict=True):
            own: list[Event] = []
            for given in each:
                new = list(islice(events, len(given.bodies)))
                self._given.add_message(given, new, following)
                own += new
            seqs = [event.seq for event in own]
            self._added.append(_Added(value, min(seqs, default=1), max(seqs, default=0)))
        self._follow_dialect()

    def _follow_dialect(self) -> None:
        """Plan again if the conversation turns out to be in a dialect that treats thinking or tools in another way."""
        thinking = self._reader.dialect.returns_thinking if self._asked_thinking is None else self._asked_thinking
        if (thinking, self._head.dialect is self._reader.dialect) != (self._thinking, self._own_tools):
            self._planner = self._new_planner(self._planner.events)
            self._planned = None

    def configure(self, *, system: Any = None, tools: Sequence[Any] | None = None) -> None:
        """Give the model another system prompt, or other tools; None: they stay."""
        with self._lock:
            now = {(body.slot, body.name): body for body in self._slots()}
            wanted = {(body.slot, body.name): body for body in (*read_system(system), *read_tools(tools))}
            given = [slot for slot, value in (("system", system), ("tools", tools)) if value is not None]
            cleared = [
                SlotContent(body.slot, body.name, "")
                for key, body in now.items()
                if body.slot in given and key not in wanted and body.text
            ]
            fresh = [*cleared, *(body for key, body in wanted.items() if now.get(key) != body)]
            self._head = given_head(system, tools, self._head)
            self._planned = None
            if fresh:
                self._append(*fresh)
            self._follow_dialect()

    def _slots(self) -> list[SlotContent]:
        return [event.body for event in self._planner.slots if isinstance(event.body, SlotContent)]

    # The request

    @property
    def plan(self) -> Plan:
        """The plan of the next request."""
        with self._lock:
            if self._planned is None:
                made = self._planner.plan()
                self._planned = Plan(made, self._reader.dialect, self._given, self._thinking, self._head)
            return self._planned

    def request(self, dialect: str | None = None) -> dict[str, Any]:
        """What to send now; see `Plan.request`. Raises DoesNotFit."""
        with self._lock:
            made = self.plan
            self._requested = made.tokens, len(self._planner.events)
            return made.request(dialect)

    def report(self, usage: Any) -> None:
        """Note what the provider reported for the last request: its usage or its whole answer, dict or object."""
        with self._lock:
            value = plain(usage, "usage")
            found = usage_in_any(value, self._reader.dialect) if isinstance(value, dict) else None
            if found is None:
                raise bad_message("usage", "what an answer reports, with its tokens", usage)
            tokens, upto = self._requested
            self._append(replace(found, model=self._setup.model, estimate=tokens, upto=upto))

    def text(self, item: str) -> str:
        """The whole text of a message or result that the request has in part; markers name its id."""
        with self._lock:
            found = next((each for each in self.plan.items if each.id == item), None)
        if found is None:
            raise WrongCall(f"{item}: there is no item with this id")
        return found.original

    # Compaction

    @property
    def due(self) -> str | None:
        """Why the policy wants a compaction now, with its figures; None: it does not.

        It is also None while nothing was added since `compact` found nothing to summarise.
        """
        if self._setup.loaded.policy.compaction.mode == "off":
            return None
        with self._lock:
            if self._nothing_at == len(self._planner.events):
                return None
            decision = self._decision()
        return None if decision.action == "none" else decision.why

    def _decision(self) -> CompactionDecision:
        return self._compactions().decision(self.plan.context_plan, self._planner.events)

    def _compactions(self) -> CompactionWatch:
        if self._watch is None:
            from workbench.library.compacting import CompactionWatch  # late: an import costs as much as many plans

            self._watch = CompactionWatch(self._setup)
        return self._watch

    async def compact(self, summarise: Summarise | None = None) -> CompactionResult:
        """Summarise the past as the policy says. Nothing is removed: `undo` restores every byte.

        `summarise`: gets messages and gives the summary, async or not; without it the digest is made, which needs no
        model. What it raises is raised here, and nothing has changed. Messages may be added meanwhile.
        """
        from workbench.agent.compaction_runner import failure_of  # late: like the others of compactions
        from workbench.compaction.values import CompactionRefused
        from workbench.library.compacting import compact_log
        from workbench.library.summaries import CompactionResult

        with self._lock:
            if self._compacting:
                raise Refused("a compaction of this context is under way")
            decision, events = self._decision(), tuple(self._planner.events)
            planner, self._compacting = self._planner.at_this_moment(), True
        try:
            return await compact_log(self._setup, events, planner, decision, summarise, self._accept)
        except CompactionRefused as error:
            with self._lock:
                if error.kind != "nothing" or decision.urgent:
                    self._append(failure_of(error))
                if error.kind == "nothing":
                    self._nothing_at = len(self._planner.events)
            return CompactionResult(False, str(error))
        finally:
            self._compacting = False

    def _accept(self, planned: PlannedCompaction, body: Compaction) -> None:
        with self._lock:
            planned.check_still_valid(self._planner.events, planned.compactor)
            self._append(body)

    def compact_now(self, summarise: Summarise | None = None) -> CompactionResult:
        """`compact` for programs without asyncio; it waits. After Ctrl+C nothing has changed."""
        from workbench.library.compacting import run_to_end  # late: see above

        return run_to_end(self.compact(summarise))

    def undo(self) -> str:
        """Undo the last compaction, and say what was undone. Raises WorkbenchError if there is none."""
        from workbench.compaction.undo import peel_compaction  # late: see above

        with self._lock:
            change = peel_compaction(self._planner.events)
            self._append(change.revert)
            return change.what

    # Ending

    def close(self) -> None:
        """Let other programs write the stored session. A context without a store needs no closing."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()

    def __repr__(self) -> str:
        return f"<Context of {len(self._given.messages):,} messages: {self.plan!r}>"
