"""`workbench ask` with a provider that is careless or means no good: nothing is lost, every ending has its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import Call
from support.hostile import DIALECTS, KEY, Dialect, Hostile, OpenAI, head, hostile, redirect
from support.hostile import Call as ToolCall
from workbench.log.codec import decode_event
from workbench.log.events import Failure

pytestmark = [
    pytest.mark.xdist_group("litellm"),
    pytest.mark.usefixtures("project"),
    pytest.mark.parametrize("dialect", DIALECTS),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("[requests]\ntries = 2\n")


def way(dialect: Dialect, server: Hostile) -> tuple[str, ...]:
    return ("-m", dialect.model, "--api-base", server.url + dialect.path)


def test_two_calls_with_one_id_are_two_calls(call: Call, dialect: Dialect, project: Path) -> None:
    (project / "a.py").write_text("one = 1\n")
    calls = [ToolCall("x"), ToolCall("x")]
    with hostile(head() + dialect.says(calls=calls), head() + dialect.says("both read")) as server:
        outcome = call("ask", "read it twice", *way(dialect, server))
    assert (outcome.code, outcome.out) == (0, "both read\n")


def test_a_mark_a_list_and_a_cost_that_is_none_lose_no_text(call: Call, dialect: Dialect) -> None:
    counts = {"prompt_tokens": 5, "completion_tokens": 1, "input_tokens": 5, "output_tokens": 1, "cost": "COST"}
    body = dialect.says([{"type": "text", "text": "whole"}] if dialect is OpenAI else "whole", usage=counts)
    with hostile(head() + b"\xef\xbb\xbf" + body.replace(b'"COST"', b"NaN")) as server:
        outcome = call("ask", "hello", *way(dialect, server))
    assert (outcome.code, outcome.out) == (0, "whole\n")


def test_an_answer_of_nothing_has_its_word_and_its_exit_code(call: Call, dialect: Dialect, project: Path) -> None:
    with hostile(head() + dialect.says()) as server:
        outcome = call("ask", "hello", *way(dialect, server))
    assert (outcome.code, outcome.out) == (1, "")
    assert "the model answered with nothing" in outcome.err
    (project / "a.py").write_text("one = 1\n")
    with hostile(head() + dialect.says(calls=[ToolCall("x")]), head() + dialect.says()) as server:
        acted = call("ask", "read it", *way(dialect, server))
    assert acted.code == 0, "something was done"
    assert "the model answered with nothing" in acted.err


def test_a_redirect_is_refused_by_name(call: Call, dialect: Dialect) -> None:
    with hostile(head() + dialect.says("stolen")) as thief, hostile(redirect(f"{thief.url}/v1")) as server:
        outcome = call("ask", "hello", *way(dialect, server))
        assert (thief.requests, len(server.requests)) == ([], 1)
    assert outcome.code == 1
    assert f"redirected: {server.url} sends the request on to {thief.url}" in outcome.err


def test_the_wait_that_was_asked_for_is_told_and_no_further_try_promised(call: Call, dialect: Dialect) -> None:
    with hostile(dialect.refuses(429, "Slow down", Retry_After="7200")) as server:
        outcome = call("ask", "hello", *way(dialect, server))
        assert len(server.requests) == 1, "longer than the time for all tries"
    assert "The provider asks to wait 7,200 s." in outcome.err
    assert "tries again" not in outcome.err
    with hostile(dialect.refuses(503, "Busy", Retry_After="0")) as server:
        outcome = call("ask", "hello", *way(dialect, server))
        assert len(server.requests) == 2
    assert "Given up after 2 tries." in outcome.err
    assert "tries again" not in outcome.err


def test_a_learnt_window_that_refuses_says_how_to_be_rid_of_it(call: Call, dialect: Dialect) -> None:
    words = "maximum context length is 2000 tokens", "prompt is too long: 9000 tokens > 2000 maximum"
    with hostile(dialect.refuses(400, words[dialect is not OpenAI]), head() + dialect.says("fine")) as server:
        first = call("ask", "hello", *way(dialect, server), "--json")
        assert first.code == 0
        [session] = call("sessions", "--json").json["sessions"]
        long = "word " * 3_000
        refused = call("ask", long, "--session", session["id"], *way(dialect, server))
        assert refused.code == 3
        assert "the window of 2,000, learnt from the provider" in refused.err
        assert "--window N sets another" in refused.err
        before = len(server.requests)
        wide = call("ask", "again", "--session", session["id"], "--window", "50000", *way(dialect, server), "--json")
        assert wide.code == 0
        assert len(server.requests) == before + 1
    assert not any(isinstance(decode_event(line).body, Failure) for line in wide.out.splitlines())
