"""The plan of a request, for other people's programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.config.errors import Refused, WrongCall
from workbench.config.text import SCHEMA
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.plan_json import item_json, plan_json
from workbench.library.messages import (
    GivenHead,
    Message,
    MessageReader,
    given_head,
    known_dialect,
    read_messages,
    read_system,
    read_tools,
)
from workbench.library.plain_values import copied
from workbench.library.rendering import GivenMessages, render_in
from workbench.library.setups import ChosenPolicy, setup_for_call
from workbench.log.events import Body, Event
from workbench.wire.dialect import Dialect
from workbench.wire.dialects import DEFAULT


class DoesNotFit(Refused):
    """The request is larger than the window allows, whatever the policy leaves out. It says by how much."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What the model sees: every message with its state and the reason, and the request."""

    context_plan: ContextPlan
    """The program's own value, for everything that is not here."""
    dialect: Dialect = DEFAULT
    """The dialect of the messages, in which `request` writes unless another one is named."""
    given: GivenMessages = field(default_factory=GivenMessages)
    thinking: bool = False
    """Whether the model's thinking is sent back."""
    head: GivenHead = field(default_factory=GivenHead)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages to send, in the form of OpenAI's chat. Look at `fits` before."""
        return list(self._rendered(DEFAULT)["messages"])

    def request(self, dialect: str | None = None) -> dict[str, Any]:
        """The parts of the request that change: system prompt, messages and tools, under the dialect's own keys.

        `dialect`: openai, openai-responses, anthropic, google or ollama; None: that of the messages. Raises DoesNotFit.
        """
        chosen = known_dialect(dialect) or self.dialect
        if not self.fits:
            raise DoesNotFit(f"the request does not fit: {self.reason}")
        return self._rendered(chosen)

    def _rendered(self, dialect: Dialect) -> dict[str, Any]:
        """A copy: callers put marks for the cache and the like into what they send."""
        made: dict[str, Any] = copied(render_in(dialect, self.context_plan, self.given, self.thinking, self.head))
        return made

    @property
    def items(self) -> Sequence[Item]:
        """All items in the order of the request, sent or not. They are made on access."""
        return self.context_plan.items.candidates()

    @property
    def tokens(self) -> int:
        """The size of the request."""
        return self.context_plan.size

    @property
    def window(self) -> int:
        """The model's window in tokens."""
        return self.context_plan.limits.window

    @property
    def model(self) -> str:
        """The model that it is for."""
        return self.context_plan.model

    @property
    def policy(self) -> str:
        """The name of the policy."""
        return self.context_plan.policy

    @property
    def fits(self) -> bool:
        """Whether the request can be sent."""
        return self.context_plan.verdict.fits

    @property
    def reason(self) -> str:
        """Why it fits or does not, in numbers."""
        return self.context_plan.verdict.why

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before sending it."""
        return self.context_plan.warnings

    @property
    def max_output(self) -> int | None:
        """The limit on the answer to send with the request; None: none is needed."""
        return self.context_plan.max_output

    def why(self, item: Item | str | int) -> str:
        """Why an item is in its state: an item, its id, or its index. Each decision is a sentence."""
        found = self._found(item)
        if not found.edits:
            return "sent as it is" if found.in_request else "never sent"
        return "; ".join(f"{edit.stage}: {edit.why}" for edit in found.edits)

    def _found(self, item: Item | str | int) -> Item:
        if isinstance(item, Item):
            return item
        if isinstance(item, int) and not isinstance(item, bool):
            if not -len(self.items) <= item < len(self.items):
                raise WrongCall(f"why: expected an index below {len(self.items)}, got {item}")
            return self.items[item]
        found = next((each for each in self.items if each.id == item), None)
        if found is None:
            raise WrongCall(f"{item}: the plan has no item with this id")
        return found

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """The plan as JSON values, like `workbench plan --json`; `full`: with the original texts."""
        items = [item_json(item, full) for item in self.context_plan.items]
        return {"schema": SCHEMA, **plan_json(self.context_plan), "items": items}

    def to_pandas(self) -> Any:
        """The items as a data frame of pandas, which has to be installed."""
        from workbench.library.frames import data_frame  # late: for notebooks alone

        return data_frame([{**item_json(item), "why": item.why} for item in self.items])

    def _repr_html_(self) -> str:
        from workbench.library.pages import plan_page  # late: for notebooks alone

        return str(plan_page(self.context_plan))

    def __repr__(self) -> str:
        fits = "fits" if self.fits else "does not fit"
        return f"<Plan {self.policy}: {self.tokens:,} of {self.window:,} tokens in {len(self.items):,} items, {fits}>"


def plan_messages(
    messages: Iterable[Message],
    tools: Sequence[Any] | None = None,
    policy: str | ChosenPolicy = "workbench",
    model: str = "gpt-4o",
    window: int | None = None,
    dialect: str | None = None,
    *,
    system: Any = None,
    reserve: int | None = None,
    thinking: bool | None = None,
    **knobs: Any,
) -> Plan:
    """Plan a request: which messages the model sees, whole or in part, and why.

    `messages`: dicts in any dialect, or the SDKs' own objects. `dialect`: theirs, if it cannot be recognised.
    `window`: the tokens that the model takes, if the catalogue does not know better. `reserve`: tokens kept for the
    answer. `thinking`: whether the model's thinking is sent back; None: as the dialect's clients do. `knobs`: see
    `policy`. Raises BadMessage with the path of a value that is not a message.
    """
    setup = setup_for_call(policy, model, window, reserve, thinking, **knobs)
    events = numbered([*read_system(system), *read_tools(tools)])
    head = given_head(system, tools)
    reader = MessageReader(known_dialect(dialect), likely=head.dialect)
    read = read_messages(messages, reader)
    given = GivenMessages()
    for each in read:
        new = numbered(each.bodies, len(events) + 1)
        given.add_message(each, new, len(events) + 1)
        events += new
    returned = reader.dialect.returns_thinking if thinking is None else thinking
    made = setup.planner(events, thinking=returned, own_tools=head.dialect is reader.dialect).plan()
    return Plan(made, reader.dialect, given, returned, head)


def numbered(bodies: Iterable[Body], first: int = 1) -> list[Event]:
    """Events as in a file's log: ids depend on the position alone."""
    return [Event(seq, f"e{seq:05d}", 0, body) for seq, body in enumerate(bodies, first)]
