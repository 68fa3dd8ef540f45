"""Compactions with the rehearsal model behind the real gateway."""

from __future__ import annotations

import pytest

from tui.compaction.long_talk import WINDOW, stored
from tui.play import opened
from workbench.models.catalogue import REHEARSAL
from workbench.sources.services import Services

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.usefixtures("project")]


async def test_the_rehearsal_model_summarises_by_hand_and_in_a_draft(services: Services) -> None:
    async with opened(services, stored(services, model=REHEARSAL), window=WINDOW, reserve=2_000) as on:
        preview = await on.model.preview_compaction()
        assert preview.model == REHEARSAL
        draft = await on.model.draft_summary(preview)
        assert draft.made_by == REHEARSAL, draft.problems
        assert draft.summary.strip()
        outcome = await on.model.call_session(lambda session: session.compactions.compact)
        assert outcome.made_by == REHEARSAL, outcome.problems
        assert outcome.after < outcome.before
        assert not outcome.problems
