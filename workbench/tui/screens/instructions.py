"""The instructions and preferences sent to the model: each file with its tokens and cuts, and files with problems."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.agent.instructions import load_instructions
from workbench.agent.memory import load_memory
from workbench.config.paths import config_dir
from workbench.config.text import counted, printable
from workbench.context.fixed_slots import cut_note_in
from workbench.context.policy import InstructionsPolicy
from workbench.session.open_session import OpenSession
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, text_lines
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi

NONE = (
    "No AGENTS.md was found from here up to the project's root, nor in the config folder, and no preferences.md there."
)


class SlotFile(NamedTuple):
    """A file in the instructions or memory slot."""

    path: str
    slot: str
    tokens: int
    text: str
    """The text as it is sent."""
    cut: str
    """The marker of a cut; empty: nothing was cut."""


class LoadedInstructions(NamedTuple):
    """The contents of the slots, and the policy that chose them."""

    files: tuple[SlotFile, ...]
    policy: InstructionsPolicy


def loaded_instructions(opened: OpenSession) -> LoadedInstructions:
    """The instructions in the plan; call it in the session's thread."""
    found = []
    for item in opened.plan.items:
        if item.slot in ("instructions", "memory"):
            found.append(SlotFile(item.name, item.slot, item.tokens, item.original, cut_note_in(item.original)))
        elif item.slot in ("history", "turn"):
            break
    return LoadedInstructions(tuple(found), opened.setup.loaded.policy.instructions)


class InstructionsScreen(Finder[None]):
    """A row per file, then a row per file with a problem."""

    NAME = "instructions"
    PLACEHOLDER = "a part of the path, or words of the text"
    EMPTY = NONE
    COLUMNS = (Column("file"), Column("slot", 12, least=50), Column("tokens", 8, right=True), Column("", 8))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "copy the path", id="instructions.path", priority=True),
        Binding("ctrl+y", "copy", "copy the text", id="instructions.copy", priority=True),
    ]

    def __init__(self, host: MainScreenApi, found: LoadedInstructions) -> None:
        super().__init__(host)
        self._files = {file.path: file for file in found.files}
        self._policy = found.policy
        self._problems: tuple[str, ...] | None = None

    async def search_rows(self, text: str) -> FinderResult:
        """Find files by path and text. Problems are read from disk once."""
        if self._problems is None:
            self._problems = await self.host.in_background(partial(_problems, self._policy))
        rows = [
            Row(file.path, (_end(file.path), file.slot, f"{file.tokens:,}", Content.styled(_state(file), "$warning")))
            for file in self._files.values()
            if has_words(f"{file.path} {file.text}", text)
        ]
        rows += [
            Row(problem, (_end(problem.partition(": ")[0]), "–", "–", Content.styled("not used", "$warning")))
            for problem in self._problems
            if has_words(problem, text)
        ]
        total = sum(file.tokens for file in self._files.values())
        cut = sum(bool(file.cut) for file in self._files.values())
        total_words = f"{counted(total, 'token')} in every request" + (f", {cut} cut" if cut else "")
        return FinderResult(rows, total_words if self._files else "")

    async def row_details(self, value: str) -> Content:
        """The figures and the text of a file, or its problem."""
        file = self._files.get(value)
        if file is None:
            return paragraph(value, "$warning")
        title = Content.styled(f"{printable(Path(value).name)}: {counted(file.tokens, 'token')}", "bold")
        slot = "instructions, most general first" if file.slot == "instructions" else "memory: your preferences"
        facts = name_value_rows([("path", file.path), ("slot", slot), ("cut", file.cut)], self.wide)
        return join_blocks(title, facts, text_lines(file.text))

    def choose_row(self, value: str) -> None:
        """Copy the path, to open it in an editor."""
        path = value if value in self._files else value.partition(": ")[0]
        self.app.copy_to_clipboard(path)
        self.warning = f"copied {printable(path)}; a change in the file counts from the next turn on"

    def action_copy(self) -> None:
        """Copy the text as it is sent."""
        file = self._files.get(self.marked or "")
        if file is not None:
            self.app.copy_to_clipboard(file.text)
            self.warning = f"copied {len(file.text):,} characters"


def _problems(policy: InstructionsPolicy) -> tuple[str, ...]:
    found = load_instructions(Path.cwd(), config_dir(), policy)
    return (*found.problems, *load_memory(config_dir()).problems)


def _end(path: str) -> str:
    """The end of a path, which says more than its beginning."""
    parts = Path(path).parts
    return printable(path if len(parts) <= 3 else "…/" + "/".join(parts[-2:]))


def _state(file: SlotFile) -> str:
    return "cut" if file.cut else ""
