"""The draft of a summary while the user edits its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.widgets import TextArea

from workbench.compaction.values import Fact, SummaryDraft
from workbench.config.text import printable_lines
from workbench.session.model import SessionModel


class EditedDraft:
    """Keeps a draft and the text in the editor together."""

    def __init__(
        self, model: SessionModel, editor: TextArea, draft: SummaryDraft, show: Callable[[SummaryDraft], object]
    ) -> None:
        """`show`: called with each draft that replaces the one before."""
        self._model = model
        self._editor = editor
        self._show = show
        self._first = shown_summary(draft)
        self._draft = draft
        show(draft)
        editor.load_text(self._first)

    @property
    def is_edited(self) -> bool:
        return self._editor.text != self._first

    @property
    def is_valuable(self) -> bool:
        """Whether the user edited it or paid for it."""
        return self.is_edited or self._draft.cost != 0

    def replace_draft(self, draft: SummaryDraft) -> None:
        """Use another draft for the figures. The text stays."""
        self._draft = draft
        self._show(draft)

    async def current(self) -> SummaryDraft:
        """The draft with the text as it is now."""
        before, text = self._draft, self._editor.text
        if text == shown_summary(before):
            return before
        draft = await self._model.edit_summary(before, text)
        if text == self._editor.text:
            self.replace_draft(draft)
        return draft

    async def put_back(self, draft: SummaryDraft, facts: Sequence[Fact]) -> None:
        """Put lost facts back into a draft, and edit that. Ctrl+Z in the editor undoes it."""
        self.replace_draft(await self._model.put_lost_back(draft, facts))
        self._editor.replace(shown_summary(self._draft), (0, 0), self._editor.document.end)


def shown_summary(draft: SummaryDraft) -> str:
    """The summary as the editor shows it: a model's text may contain control characters."""
    return "\n".join(printable_lines(draft.summary))
