"""The policy editor: every knob with its value, origin, meaning and range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.context import policy_files
from workbench.context.knobs import Knob, as_toml, find_knob, parse_text
from workbench.context.load import PolicyRow, describe_policy, load_policy
from workbench.context.policy_files import short_policy_name
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, per_cent
from workbench.tui.screens.what_if import SessionSnapshot, plan_snapshot, what_if_setup
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.text_dialog import TextDialog

SESSION = "--set"
"""The origin of a knob that was set for one session."""


class PolicyChange(NamedTuple):
    """The policy and knobs to use."""

    policy: str
    knobs: tuple[str, ...] = ()
    """As `masking.keep_last=3`."""
    is_used: bool = True
    """False: only try it, in the lab."""


class PolicyEditor(Finder[PolicyChange]):
    """Edits a copy of a policy; changes apply when it is used or saved."""

    NAME = "policy"
    PLACEHOLDER = "a part of a knob's name, or of what it means"
    COLUMNS = (Column("knob"), Column("value", 16), Column("from", 16, least=62))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "change", id="knobs.change", priority=True),
        Binding("ctrl+u", "use", "use in this session", id="knobs.use", priority=True),
        Binding("ctrl+s", "save", "save as yours", id="knobs.save", priority=True),
        Binding("ctrl+z", "back", "as it was", id="knobs.back", priority=True),
        Binding("ctrl+n", "tool", "one for a tool", id="knobs.tool", priority=True),
    ]

    def __init__(self, host: MainScreenApi, asked: SessionSnapshot, ref: str, turned: Sequence[str] = ()) -> None:
        """`ref`: the policy to start with; the session's knobs apply on top, and `turned` on top of those."""
        super().__init__(host)
        self._asked = asked
        self._ref = ref
        self._changed = dict(_parts(knob) for knob in turned)
        """Changed knobs: the values as text, not in use yet."""
        self._rows_by_name: dict[str, PolicyRow] = {}
        self.has_saved = False
        """Whether a file was written here; `change` starts from it."""

    def _sets(self, more: Iterable[str] = ()) -> list[str]:
        """The knobs on top of the policy; later ones override earlier ones."""
        return [*self._asked.knobs, *(f"{name}={value}" for name, value in self._changed.items()), *more]

    async def search_rows(self, text: str) -> FinderResult:
        """Find knobs by name and meaning."""
        setup = await self.host.in_background(
            partial(what_if_setup, self.host.services, self.host.options, self._asked, self._ref, self._sets())
        )
        self._rows_by_name = {row.name: row for row in describe_policy(setup.loaded)}
        found = [
            row for row in self._rows_by_name.values() if has_words(f"{row.name} {row.meaning} {row.written}", text)
        ]
        found.sort(key=lambda row: not has_words(row.name, text))
        self._show_effect()
        return FinderResult([self._row(row) for row in found])

    def _row(self, row: PolicyRow) -> Row:
        changed = row.name in self._changed
        value = Content.styled(_short(row.written) or "not set", "bold $accent" if changed else "")
        name = Content.assemble(("✎ " if changed else "  ", "$accent"), row.name)
        return Row(row.name, (name, value, _origin(row.origin, changed)))

    @work(group="effect", exclusive=True)
    async def _show_effect(self) -> None:
        """Show the size of this session's request in the border, where it is always visible."""
        box = self.query_one(".finder--box")
        box.border_title = one_line(f"policy {short_policy_name(self._ref)}{' (changed)' if self._changed else ''}")
        box.border_subtitle = "planning…"
        try:
            effect = await self.host.in_background(partial(self._effect, self._sets()))
        except WorkbenchError as error:
            effect = str(error)
        box.border_subtitle = one_line(effect)

    def _effect(self, sets: list[str]) -> str:
        plan = plan_snapshot(
            what_if_setup(self.host.services, self.host.options, self._asked, self._ref, sets), self._asked
        )
        after, before = plan.size, self._asked.tokens
        share = per_cent(after, plan.limits.window)
        return f"this session: {before:,} → {after:,} tokens ({share}), {plan.verdict.status.replace('_', ' ')}"

    async def row_details(self, value: str) -> Content:
        row, knob = self._rows_by_name[value], find_knob(value)
        facts = name_value_rows(
            [
                ("value", row.written or "not set"),
                ("default", as_toml(knob.default) or "not set"),
                ("may be", knob.allowed()),
                ("from", "this screen; not in use yet" if value in self._changed else _words(row.origin)),
            ],
            self.wide,
        )
        return join_blocks(Content.styled(value, "bold"), paragraph(row.meaning), facts)

    # Changing

    def choose_row(self, value: str) -> None:
        self._change(value)

    @work(description="change")
    async def _change(self, name: str) -> None:
        knob, now = find_knob(name), self._rows_by_name[name].written
        if knob.choices or knob.kind == "bool":
            choices = knob.choices or ("true", "false")
            now = now.strip('"')
            options = [ChooserOption(each, each, "now" if each == now else "") for each in choices]
            wanted = await self.app.push_screen_wait(Chooser(name, options)) or None
        else:
            check = partial(self._check, knob)
            asked = TextDialog(name, now, f"expected {knob.allowed()}", lambda text: check(name, text))
            wanted = await self.app.push_screen_wait(asked)
        if wanted is not None and wanted != now:
            self._changed[name] = wanted
            self.refill()

    def _check(self, knob: Knob, name: str, text: str) -> None:
        """Check a value; the error does not mention `--set`, which nobody typed."""
        try:
            knob.check_value(parse_text(text.strip()))
            load_policy(self._ref, sets=self._sets([f"{name}={text}"]))
        except ValueError as error:
            raise WrongCall(str(error)) from None
        except WrongCall as error:
            raise WrongCall(str(error).removeprefix(f"{SESSION}: ")) from None

    @work
    async def action_tool(self) -> None:
        """Add a knob for a single tool."""
        about = "A knob and its value, for one tool alone."
        example = "truncation.tools.run_command.max_tokens=2000"
        text = await self.app.push_screen_wait(TextDialog("a knob for one tool", example, about, self._check_new))
        if text:
            name, value = _parts(text)
            self._changed[name] = value
            self.refill()

    def _check_new(self, text: str) -> None:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongCall("expected KNOB=VALUE")
        try:
            knob = find_knob(name.strip())
        except LookupError as error:
            raise WrongCall(f"{name.strip()}: {error}") from None
        self._check(knob, name.strip(), value.strip())

    def action_back(self) -> None:
        """Undo the changes to the marked knob."""
        if self.marked is not None and self._changed.pop(self.marked, None) is not None:
            self.refill()
        else:
            self.warning = "This knob was not changed here."

    # Using and saving

    def action_use(self) -> None:
        """Use the policy in this session, from the next turn on."""
        self.dismiss(self.change)

    @property
    def change(self) -> PolicyChange:
        """The changes so far."""
        return PolicyChange(self._ref, tuple(f"{name}={value}" for name, value in self._changed.items()))

    @work
    async def action_save(self) -> None:
        """Save it as a file in the config folder, for all sessions."""
        try:
            path = await ask_and_save_policy(self, self._ref, self._sets())
        except WorkbenchError as error:
            self.warning = str(error)
            return
        if path is not None:
            self._ref, self.has_saved = str(path), True
            self._changed.clear()
            self.warning = f"saved to {path}; Ctrl+U uses it in this session"
            self.refill()


async def ask_and_save_policy(screen: Finder[Any], ref: str, knobs: Sequence[str]) -> Path | None:
    """Ask for a name, and write a policy file that extends `ref` with these knobs; None if the user cancelled.

    Raises WorkbenchError.
    """
    proposed = short_policy_name(ref) if "/" in ref else f"my-{ref}"
    asked = TextDialog("save as", proposed, "The name of a policy of yours.", policy_files.policy_path)
    name = await screen.app.push_screen_wait(asked)
    if name is None:
        return None
    over = policy_files.policy_path(name).exists()
    if over:
        what = f"{name} already exists. Replace it?"
        if not await screen.app.push_screen_wait(ConfirmDialog("save", what, "replace it", "cancel")):
            return None
    values = {knob: parse_text(value) for knob, value in map(_parts, knobs)}
    return await screen.host.in_background(partial(policy_files.save_policy, name, ref, values, over=over))


def _parts(knob: str) -> tuple[str, str]:
    """Split `masking.keep_last=3` into name and value."""
    name, _, value = knob.partition("=")
    return name.strip(), value.strip()


def _short(value: str) -> str:
    return value if len(value) <= 60 else value[:59] + "…"


def _origin(origin: str, changed: bool) -> str:
    return "not in use yet" if changed else _words(origin).rpartition("/")[2]


def _words(origin: str) -> str:
    return "this session" if origin == SESSION else origin
