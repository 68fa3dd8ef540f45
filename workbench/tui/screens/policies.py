"""The policies: presets and the user's own, each with what it would do to the present session."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError
from workbench.context.load import LoadedPolicy, describe, load_policy
from workbench.tui.screens.lab import policy_names, short_name
from workbench.tui.screens.text_blocks import blocks, pairs, paragraph, per_cent
from workbench.tui.screens.what_if import SessionSnapshot, planned, set_up
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.host import Host


class PolicyChoice(NamedTuple):
    """A policy, and whether its knobs are to be looked at before it is used."""

    ref: str
    edit: bool = False


class PoliciesScreen(Finder[PolicyChoice]):
    """Enter goes on under the marked one."""

    NAME = "policies"
    COLUMNS = (Column("policy", 18), Column("what it does"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use this policy", id="policies.use", priority=True),
        Binding("ctrl+e", "edit", "its knobs", id="policies.edit", priority=True),
    ]

    def __init__(self, host: Host, asked: SessionSnapshot) -> None:
        super().__init__(host)
        self._asked = asked

    async def find(self, text: str) -> FinderResult:
        """By name and by what it does; the mark begins on the one that holds."""
        words = text.lower().split()
        rows = await self.host.in_background(lambda: [self._row(ref) for ref in policy_names(self._asked.policy)])
        matching = [row for row in rows if all(word in f"{row.value} {row.cells[1]}".lower() for word in words)]
        names = [row for row in matching if all(word in row.value.lower() for word in words)]
        others = [row for row in matching if row not in names]
        return FinderResult([*names, *others])

    def _row(self, ref: str) -> Row:
        name = short_name(ref)
        now = ref == self._asked.policy
        title = Content.assemble(("● ", "$success"), name, ("  now", "$quiet")) if now else Content(f"  {name}")
        try:
            return Row(ref, (title, load_policy(ref).policy.description))
        except WorkbenchError as error:
            return Row(ref, (title, Content.styled(f"broken: {error}", "$warning")))

    async def tell(self, value: str) -> Content:
        """What it would do to this session, and which knobs it turns."""
        return await self.host.in_background(partial(self._told, value))

    def _told(self, ref: str) -> Content:
        asked = self._asked
        setup = set_up(self.host.services, self.host.options, asked, ref, asked.knobs)
        plan = planned(setup, asked)
        after, window = plan.size, plan.limits.window
        facts = pairs(
            [
                ("now", f"{asked.tokens:,} tokens ({per_cent(asked.tokens, window)}) under {short_name(asked.policy)}"),
                ("then", f"{after:,} tokens ({per_cent(after, window)})"),
                ("verdict", plan.verdict.why),
                ("from", ref if "/" in ref else "a preset"),
            ],
            self.wide,
        )
        title = Content.styled(short_name(ref), "bold")
        return blocks(title, paragraph(setup.loaded.policy.description), facts, _turned(setup.loaded, self.wide))

    def take(self, value: str) -> None:
        """Go on under it."""
        self.dismiss(PolicyChoice(value))

    def action_edit(self) -> None:
        """Look at its knobs, and change some."""
        if self.marked is not None:
            self.dismiss(PolicyChoice(self.marked, edit=True))


def _turned(loaded: LoadedPolicy, width: int) -> Content:
    """The knobs that are not at their defaults."""
    rows = [(row.name, row.written) for row in describe(loaded) if row.origin != "default"]
    return Content.assemble(("knobs that are set\n", "bold"), pairs(rows, width)) if rows else Content()
