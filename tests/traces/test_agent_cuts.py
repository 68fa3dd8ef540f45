"""Cuts that agents made before they sent something, told by their own words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.recordings import FOLDER
from traces.written_cuts import CODEX, HALF, WARNING, WRITTEN
from workbench.log.events import AgentCut, ToolResult, UserMessage
from workbench.traces.agent_cuts import AGENT_CUTS
from workbench.traces.building import Builder
from workbench.traces.finding_cuts import cut_in
from workbench.traces.formats import NAMES, read_conversations

IDS = [f"{agent}-{number}" for number, (agent, *_) in enumerate(WRITTEN)]


@pytest.mark.parametrize(("agent", "tool", "text", "expected"), WRITTEN, ids=IDS)
def test_a_cut_is_told_by_the_words_that_its_agent_writes(
    agent: str, tool: str, text: str, expected: tuple[str, str, int]
) -> None:
    cut = cut_in(agent, text, tool)
    assert cut is not None
    assert (cut.by, cut.state, cut.size, cut.tokens) == (agent, *expected)


ASKED = [
    (agent, tool, text, name)
    for agent, tool, text, _ in WRITTEN
    for each in AGENT_CUTS[agent]
    if tool in each.tools or not each.tools
    for name in each.unless
    if agent != "Cline" and (re.match if each.place == "start" else re.search)(each.pattern, text, re.DOTALL)
]


@pytest.mark.parametrize(("agent", "tool", "text", "name"), ASKED, ids=lambda each: each[:20])
def test_a_part_that_the_model_itself_asked_for_is_no_cut(agent: str, tool: str, text: str, name: str) -> None:
    for arguments, is_cut in (({name: 20}, False), ({name: None}, True), ({"path": "a"}, True)):
        builder = Builder(agent)
        builder.call("c1", tool, arguments, "r1")
        builder.result("c1", text)
        [result] = [body for body in builder.finish() if isinstance(body, ToolResult)]
        assert (result.cut is not None) == is_cut


def test_what_was_asked_for_each_of_several_files_counts_as_well() -> None:
    [text] = [text for agent, tool, text, _ in WRITTEN if (agent, tool) == ("Cline", "read_files")]
    for file, is_cut in (({"path": "/a", "end_line": 2000}, False), ({"path": "/a"}, True)):
        assert (cut_in("Cline", text, "read_files", json.dumps({"files": [file]})) is not None) == is_cut


def test_a_limit_that_the_model_gave_is_known_for_four_agents() -> None:
    assert {agent for agent, *_ in ASKED} == {"Gemini CLI", "Qwen Code", "opencode", "Kimi Code"}


def test_the_part_that_is_looked_for_first_is_in_the_words() -> None:
    found = [each for words in AGENT_CUTS.values() for each in words if each.place == "middle"]
    assert found
    assert all(each.inside and each.inside in each.sign for each in found)


def test_every_agent_of_the_table_has_an_example_and_is_a_format() -> None:
    assert {agent for agent, *_ in WRITTEN} == AGENT_CUTS.keys()
    assert AGENT_CUTS.keys() <= set(NAMES)


@given(st.sampled_from(WRITTEN), st.text("abc \n", min_size=1), st.text("xyz \n", min_size=1), st.integers(500, 900))
def test_the_same_words_inside_other_text_are_no_cut(
    written: tuple[str, str, str, tuple[str, str, int]], before: str, behind: str, count: int
) -> None:
    agent, tool, text, _ = written
    quoted = f"{count}: {before}{text}\n" + f"{count}: {behind}\n" * count
    assert cut_in(agent, quoted, tool) is None


@given(st.sampled_from(WRITTEN), st.sampled_from(sorted(set(NAMES) - AGENT_CUTS.keys())))
def test_the_words_of_one_agent_say_nothing_in_the_session_of_another(
    written: tuple[str, str, str, tuple[str, str, int]], other: str
) -> None:
    assert cut_in(other, written[2], written[1]) is None


@pytest.mark.parametrize(("agent", "tool", "text", "_"), WRITTEN, ids=IDS)
def test_what_a_user_quotes_is_no_cut_where_results_are_no_messages(
    agent: str, tool: str, text: str, _: object
) -> None:
    builder = Builder(agent)
    builder.add(UserMessage(text), ToolResult("c", text, tool))
    message, result = builder.finish()
    assert isinstance(message, UserMessage)
    assert isinstance(result, ToolResult)
    assert (message.cut is not None) == (agent in ("SWE-agent", "mini-swe-agent"))
    assert result.cut is not None


def test_a_file_with_a_stored_cut_of_codex_is_no_cut_of_this_output() -> None:
    assert cut_in("Codex", CODEX.replace("29210", "500") + WARNING + "text") is None


def test_half_a_note_is_none() -> None:
    assert cut_in("Crush", f"{HALF}\n\n... [3 lines truncated] ...\n\nend", "bash") is None
    assert cut_in("OpenHands", f"{HALF}\n[... Observation truncated due to length ...]\nend", "bash") is None
    assert cut_in("pi", f"{HALF}\n\n[12 more lines in file. Use offset=13 to continue.]", "read") is None


def cuts_in(file: Path) -> list[AgentCut]:
    [bodies] = read_conversations(file.name, file.read_text("utf-8"))
    return [body.cut for body in bodies if isinstance(body, ToolResult | UserMessage) and body.cut is not None]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "codex/codex_2compactions_1.4MB.jsonl",
            r"Output:\\nWarning: truncated output \(original token count: (\d+)\)",
        ),
        ("mini-swe-agent/mini_sklearn25102_754KB.traj.json", r"<elided_chars>\\n(\d+) characters elided\\n"),
    ],
)
def test_the_cuts_of_real_sessions_are_found_with_the_size_that_is_told(name: str, words: str) -> None:
    file = FOLDER / name
    if not file.is_file():
        pytest.skip("no transcripts of other agents here")
    sizes = [f"{int(found):,}" for found in re.findall(words, file.read_text("utf-8"))]
    found = cuts_in(file)
    assert found
    assert [cut.size.split()[0] for cut in found] == sizes


def test_an_old_observation_of_swe_agent_whose_original_is_nowhere_is_masked_by_it() -> None:
    asked = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": "Old environment output: (98 lines omitted)"},
        {"role": "user", "content": "what the user quotes: Old environment output: (98 lines omitted)"},
    ]
    [bodies] = read_conversations(
        "run.traj", json.dumps({"trajectory": [{"query": asked, "response": "done", "observation": ""}]})
    )
    cuts = [body.cut for body in bodies if isinstance(body, UserMessage)]
    assert cuts == [None, AgentCut("masked", "SWE-agent", "98 lines before"), None]
