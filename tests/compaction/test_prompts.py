"""The prompts: after their documents, replaceable, and framed so that the record stays data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.compaction.prompts import (
    FRAME,
    NAMES,
    RECALL_TOOLS,
    RULES,
    inert_text,
    load_prompt,
    merge_message,
    merge_prompt,
    summary_message,
    summary_preface,
)
from workbench.config.errors import WrongCall
from workbench.context.load import load_policy
from workbench.context.policy_names import PRESETS
from workbench.rehearsal.summaries import is_summary_request, summarise
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_names_a_prompt_that_ships(name: str) -> None:
    policy = load_policy(name, env={}, folder=Path("no-such-folder")).policy
    assert load_prompt(policy.compaction.prompt).name in NAMES


def test_the_prompts_ask_for_what_their_documents_ask_for() -> None:
    assert "two to three sentences" in load_prompt("codex").text
    sliding = load_prompt("sliding").text
    assert re.findall(r"^(\d)\. ", sliding, re.MULTILINE) == ["1", "2", "3", "4"]
    assert "under 500 tokens" in sliding
    assert len(re.findall(r"^- .*[;.]$", load_prompt("confirm").text.partition(RULES)[0], re.MULTILINE)) == 5
    assert "conversation so far" in load_prompt("window").text


def test_the_default_asks_for_six_things_in_the_conversations_language_and_updates() -> None:
    text = load_prompt("default").text
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Goals and preferences",
        "Decisions",
        "Facts and numbers",
        "Files and code",
        "Tool calls and results",
        "Open questions and next steps",
    ]
    assert "In the language of the conversation" in text
    assert "Do not start over" in text
    assert load_prompt("default") == load_prompt("workbench")


@pytest.mark.parametrize("prompt", [*map(load_prompt, NAMES), merge_prompt()], ids=lambda prompt: prompt.name)
def test_every_prompt_has_the_rules_and_is_known_to_the_rehearsal_model(prompt: object) -> None:
    text = prompt.text  # type: ignore[attr-defined]  # parametrize hands out objects
    assert text.endswith(RULES)
    assert is_summary_request(
        CheckedRequest((CheckedMessage("system", text), CheckedMessage("user", summary_message(["[1 user]\nhi"], 100))))
    )


@requirement("sliding", "configuration", "the prompt can be replaced by one from a file")
def test_a_file_takes_the_place_of_a_prompt_but_not_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.md").write_text("Write a haiku.\n", encoding="utf-8-sig")
    prompt = load_prompt("file:mine.md")
    assert prompt.text == f"Write a haiku.\n\n{RULES}"
    assert load_prompt(f"file:{tmp_path / 'mine.md'}").hash == prompt.hash != load_prompt("codex").hash
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "other.md").write_text("Short.")
    assert load_prompt("file:other.md").text.startswith("Short.")


def test_errors_name_the_file_or_the_prompts_there_are(tmp_path: Path) -> None:
    with pytest.raises(WrongCall, match=r"compaction\.prompt: .*gone\.md: cannot be read: No such file"):
        load_prompt("file:/gone.md")
    (tmp_path / "empty.md").write_text(" \n")
    with pytest.raises(WrongCall, match=r"empty\.md: expected a prompt, the file is empty"):
        load_prompt(f"file:{tmp_path / 'empty.md'}")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(WrongCall, match=r"latin\.md: expected a file of UTF-8 text"):
        load_prompt(f"file:{tmp_path / 'latin.md'}")
    with pytest.raises(WrongCall, match="haiku: no such prompt; expected one of workbench, codex"):
        load_prompt("haiku")
    with pytest.raises(WrongCall, match="cannot be read"):
        load_prompt("file:~nobody-has-this-name/x.md")


def test_the_request_says_what_to_do_and_what_is_data() -> None:
    text = summary_message(["[e1 user]\nhello", "[e2 assistant]\nhi"], 2_000, previous="It began.")
    assert text == (
        "Summarise the conversation in the record below. Update the earlier summary with it: what still holds stays, "
        "what has changed is corrected.\n\n<earlier_summary>\nIt began.\n</earlier_summary>\n\n"
        "<record>\n[e1 user]\nhello\n\n[e2 assistant]\nhi\n</record>\n\nThe summary has at most 2,000 tokens."
    )
    assert "part 2 of 3" in summary_message(["x"], 10, part=2, parts=3)
    assert merge_message(["a", "b"], 10).count("Part ") == 2


@given(st.lists(st.sampled_from(["<", "</", "record", ">", "RECORD>", "earlier_summary>", "x", "\n"]), max_size=12))
def test_no_text_can_ever_leave_its_frame(pieces: list[str]) -> None:
    said = "x" + "".join(pieces)
    text = summary_message([said], 10, previous=said)
    for tag in ("<record>", "</record>", "<earlier_summary>", "</earlier_summary>"):
        assert len(re.findall(re.escape(tag), text, re.IGNORECASE)) == 1
    assert len(inert_text(said)) == len(said)


def test_the_rehearsal_model_reads_the_record_and_nothing_around_it() -> None:
    blocks = [
        "[e1 user]\nFix src/app.py, in at most 3 tokens of patience",
        '[e2 call run_command]\n{"command": "make test"}',
        "[e3 result run_command]\nValueError: no",
        "[e4 assistant, stays in the request]\nWe decided to use tabs.",
    ]
    earlier = "## Goals\n- Ship it."
    asked = summary_message(blocks, 900, previous=earlier)
    made = summarise(
        CheckedRequest((CheckedMessage("system", load_prompt("workbench").text), CheckedMessage("user", asked)))
    )
    for line in ("- Ship it.", "- Fix src/app.py", "- make test", "- ValueError: no", "- We decided to use tabs."):
        assert line in made
    for noise in ("record", "[e1", "Summarise", "at most 900"):
        assert noise not in made


def test_a_summary_is_always_framed_and_names_its_range_where_it_can_be_read() -> None:
    assert summary_preface("Record:\n", 3, 41, False) == "Record:\n"
    assert summary_preface(" ", 3, 41, False) == FRAME
    recalled = summary_preface("Record:\n", 3, 41, True)
    assert recalled.startswith("Record:\n[The originals can be read with ")
    assert "id 3-41" in recalled
    assert all(tool in recalled for tool in RECALL_TOOLS)


@requirement("sliding", "configuration", "the file of a prompt is named as `file://`, also from the home folder")
@pytest.mark.parametrize("ref", ["file:~/mine.md", "file://~/mine.md", "file:{home}/mine.md", "file://{home}/mine.md"])
def test_a_prompt_of_ones_own_is_named_with_or_without_slashes(
    ref: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.md").write_text("Be brief.")
    assert load_prompt(ref.format(home=tmp_path)).text.startswith("Be brief.")
