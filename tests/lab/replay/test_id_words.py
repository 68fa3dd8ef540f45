"""Identifiers are found in words, and words of prose with hyphens are none."""

from __future__ import annotations

import pytest

from workbench.lab.replay.id_words import find_ids


@pytest.mark.parametrize("word", ["up-to-date", "hard-coded", "server-side", "Content-Type", "UTF-8"])
def test_prose_and_what_every_model_knows_is_no_identifier(word: str) -> None:
    assert [*find_ids(word)] == []


@pytest.mark.parametrize("word", ["blue-harbor", "JIRA-48213", "X-Trace-Id", "@acme/tools"])
def test_a_name_with_hyphens_is_one(word: str) -> None:
    assert word in find_ids(f"({word})")
