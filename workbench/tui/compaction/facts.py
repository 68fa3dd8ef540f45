"""The facts that a summary lost, as a list. Facts can be chosen, and their sources shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from workbench.compaction.values import Fact, SummaryAudit
from workbench.config.text import printable
from workbench.tui.compaction import descriptions
from workbench.tui.widgets.cells import one_line
from workbench.views.compaction_values import PastAudit

Word = Literal["lost", "forgot"]
MOST = 500
"""The most facts to list; the figures count them all."""


class FactList(OptionList):
    """Lost facts first, then facts of an earlier summary that this one lacks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "select or unselect a lost fact", id="facts.choose"),
        Binding("o,enter", "look", "show its source in the context", id="facts.look"),
    ]

    @dataclass(eq=False)
    class SourceWanted(Message):
        """Show the event that a fact came from."""

        seq: int

    def __init__(self, title: str, *, choosing: bool = False) -> None:
        """`choosing`: the user can choose facts to put back into the summary."""
        super().__init__(markup=False, compact=True)
        self._title = title
        self.border_title = one_line(title)
        self._choosing = choosing
        if choosing:
            self.border_subtitle = "Space chooses · o source"
        self._facts: list[tuple[Word, Fact]] = []
        self._seqs: Mapping[str, int] = {}
        self._chosen: set[Fact] = set()

    def waiting(self) -> None:
        """Show that the audit is running."""
        self.none("looking for what was lost…")

    def none(self, why: str) -> None:
        """Show why there is nothing to list."""
        self._facts = []
        self.border_title = one_line(self._title)
        self.clear_options()
        self.add_option(Option(Content.styled(printable(why), "$quiet"), disabled=True))

    def show(self, looked: PastAudit) -> None:
        """Show the facts of a past compaction."""
        self._fill(looked.lost, looked.forgotten, looked.kept, looked.seqs)

    def show_audit(self, audit: SummaryAudit, seqs: Mapping[str, int]) -> None:
        """Show the facts of a draft. Chosen facts stay chosen while they are lost."""
        self._chosen &= {*audit.lost, *audit.forgotten}
        self._fill(audit.lost, audit.forgotten, len(audit.kept), seqs)

    def _fill(self, lost: tuple[Fact, ...], forgotten: tuple[Fact, ...], kept: int, seqs: Mapping[str, int]) -> None:
        self._seqs = seqs
        marked = self.highlighted
        since = f", {len(forgotten):,} lost since the last summary" if forgotten else ""
        title = f"{len(lost):,} lost, {kept:,} kept{since}"
        if not lost and not forgotten:
            self.none("no facts were lost")
            self.border_title = one_line(title)
            return
        self.border_title = one_line(title)
        facts: list[tuple[Word, Fact]] = [("lost", fact) for fact in lost]
        facts += [("forgot", fact) for fact in forgotten]
        self._facts = facts[:MOST]
        self.clear_options()
        self.add_options(Option(self._line(word, fact)) for word, fact in self._facts)
        if len(facts) > MOST:
            more = f"… and {len(facts) - MOST:,} more"
            self.add_option(Option(Content.styled(more, "$quiet"), disabled=True))
        self.highlighted = min(marked or 0, len(self._facts) - 1)

    def _line(self, word: Word, fact: Fact) -> Content:
        line = descriptions.fact_line(fact, word, self._seqs.get(fact.event))
        if not self._choosing:
            return line
        return Content.assemble("[x] " if fact in self._chosen else "[ ] ", line)

    @property
    def chosen(self) -> list[Fact]:
        return [fact for _, fact in self._facts if fact in self._chosen]

    def action_choose(self) -> None:
        """Choose the fact or not, and go to the next."""
        at = self.highlighted
        if not self._choosing or at is None or at >= len(self._facts):
            return
        word, fact = self._facts[at]
        self._chosen ^= {fact}
        self.replace_option_prompt_at_index(at, self._line(word, fact))
        self.action_cursor_down()

    def action_look(self) -> None:
        at = self.highlighted
        if at is not None and at < len(self._facts):
            seq = self._seqs.get(self._facts[at][1].event)
            if seq is not None:
                self.post_message(self.SourceWanted(seq))
