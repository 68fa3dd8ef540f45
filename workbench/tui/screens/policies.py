"""The policies: presets and the user's own, each with its effect on the open session."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError
from workbench.context.load import LoadedPolicy, describe_policy, load_policy
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import RECORDED
from workbench.proxy.control import ProxyPolicy
from workbench.proxy.policy_notes import OFF
from workbench.tui.screens.proxy_policy import PassingSession
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, per_cent, text_lines
from workbench.tui.screens.what_if import SessionSnapshot, plan_snapshot, what_if_policies, what_if_setup
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi


class PolicyChoice(NamedTuple):
    """A policy, and whether to open its knobs before it is used."""

    ref: str
    edit: bool = False


class PoliciesScreen(Finder[PolicyChoice]):
    """Lists policies; Enter uses the marked one."""

    NAME = "policies"
    COLUMNS = (Column("policy", 18), Column("what it does"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use this policy", id="policies.use", priority=True),
        Binding("ctrl+e", "edit", "its knobs", id="policies.edit", priority=True),
    ]

    def __init__(self, host: MainScreenApi, asked: SessionSnapshot, passing: PassingSession | None = None) -> None:
        """`passing`: the session's requests pass a proxy, which can apply a policy."""
        super().__init__(host)
        self._asked = asked
        self._passing = passing

    async def search_rows(self, text: str) -> FinderResult:
        """Find policies by name and description; the cursor starts on the current one."""
        names = what_if_policies(self._asked.policy, is_recorded=self._asked.recorded is not None)
        rows = await self.host.in_background(lambda: [self._row(ref) for ref in names])
        if self._passing is not None and self._passing.now.policy is not None:
            rows = [Row(OFF, (f"  {OFF}", "On the way: send requests as they are")), *rows]
        matching = [row for row in rows if has_words(f"{row.value} {row.cells[1]}", text)]
        first = [row for row in matching if has_words(row.value, text)]
        others = [row for row in matching if row not in first]
        return FinderResult([*first, *others])

    def _row(self, ref: str) -> Row:
        name = short_policy_name(ref)
        now = ref == self._asked.policy
        title = Content.assemble(("● ", "$success"), name, ("  now", "$quiet")) if now else Content(f"  {name}")
        if ref == RECORDED and self._asked.recorded is not None and not now:
            title = Content.assemble("  ", name, ("  back", "$quiet"))
        if self._passing is not None and self._passing.now.policy is not None:
            is_on = ref == self._passing.now.policy.policy
            title = Content.assemble(("● ", "$success"), name, ("  on the way", "$quiet")) if is_on else title
        try:
            return Row(ref, (title, load_policy(ref).policy.description))
        except WorkbenchError as error:
            return Row(ref, (title, Content.styled(f"broken: {error}", "$warning")))

    async def row_details(self, value: str) -> Content:
        """The policy's effect on this session, and its knobs."""
        return await self.host.in_background(partial(self._details, value))

    def _on_the_way(self, ref: str) -> Content:
        if self._passing is None or ref == RECORDED:
            return Content()
        ahead = self._passing.ahead(self.host, None if ref == OFF else ProxyPolicy(ref))
        return Content.assemble(("on the way\n", "bold"), text_lines(str(ahead)))

    def _details(self, ref: str) -> Content:
        if ref == OFF:
            return self._on_the_way(ref)
        asked = self._asked
        setup = what_if_setup(self.host.services, self.host.options, asked, ref, asked.knobs)
        plan = plan_snapshot(setup, asked)
        after, window = plan.size, plan.limits.window
        facts = name_value_rows(
            [
                (
                    "now",
                    f"the next request: {asked.tokens:,} tokens ({per_cent(asked.tokens, window)}) under "
                    f"{short_policy_name(asked.policy)}",
                ),
                ("then", f"{after:,} tokens ({per_cent(after, window)})"),
                ("verdict", plan.verdict.why),
                ("from", ref if "/" in ref else "a preset"),
            ],
            self.wide,
        )
        title = Content.styled(short_policy_name(ref), "bold")
        about, turned = paragraph(setup.loaded.policy.description), _turned(setup.loaded, self.wide)
        return join_blocks(title, about, self._on_the_way(ref), facts, turned)

    def choose_row(self, value: str) -> None:
        self.dismiss(PolicyChoice(value))

    def action_edit(self) -> None:
        if self.marked is not None:
            self.dismiss(PolicyChoice(self.marked, edit=True))


def _turned(loaded: LoadedPolicy, width: int) -> Content:
    """The knobs that differ from their defaults."""
    rows = [(row.name, row.written) for row in describe_policy(loaded) if row.origin != "default"]
    return Content.assemble(("knobs that are set\n", "bold"), name_value_rows(rows, width)) if rows else Content()
