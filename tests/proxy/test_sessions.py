"""Requests that pass become sessions: each conversation one, with what was asked beside it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.conftest import Recording, answered, called, claude, result, said, user
from support.random_cases import few_cases
from workbench.compaction.record import read_record
from workbench.log.errors import StoreError
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Failure,
    Hold,
    Override,
    Request,
    RequestAnswer,
    RequestPart,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.log.store import Store
from workbench.proxy.conversation import GROWN, LEFT_OUT, MASKED
from workbench.proxy.records import HeldRecord
from workbench.proxy.redaction import redacted
from workbench.proxy.unpacking import read_body, unpack_answer
from workbench.sources.source import as_source, number_events
from workbench.tui.compaction.descriptions import entry_figures

MESSAGES = "/v1/messages"
ONE = {"X-Claude-Code-Session-Id": "one", "User-Agent": "claude-cli/2.1", "Authorization": "Bearer secret"}


def test_a_conversation_is_one_session_with_each_message_once(recording: Recording) -> None:
    first = claude(user("look"))
    second = claude(user("look"), called("c1"), result("c1", "a.py"))
    recording.pass_through(MESSAGES, first, answered(called("c1"), 40))
    recording.pass_through(MESSAGES, second, answered(said("done"), 60))
    assert len(recording.store.list()) == 1
    kinds = (UserMessage, ToolCall, ToolResult, AssistantMessage)
    assert [type(body) for body in recording.bodies() if isinstance(body, kinds)] == list(kinds)
    assert recording.sent() == [first, second]
    used = [body for body in recording.bodies() if isinstance(body, Usage)]
    assert [(each.prompt, each.cached, each.seconds) for each in used] == [(70, 30, 0.02), (90, 30, 0.02)]
    came = [body for body in recording.bodies() if isinstance(body, RequestAnswer)]
    assert [(each.status, each.first, each.took) for each in came] == [(200, 10, 20)] * 2


def test_events_say_when_they_happened_however_late_they_are_stored(recording: Recording) -> None:
    sent = 1_790_000_000_000
    asked = recording.send(MESSAGES, claude(user("look")), at=sent)
    held = recording.sessions.hold_request(asked, HeldRecord("every", "each is held", 5_000, "as_it_was"))
    recording.answer(held, answered(said("done")))
    recording.sessions.add_session_event(asked.stored.id, Setting("policy", "layers"))
    events = recording.store.session(recording.store.list()[0].id, write=False).events()
    times = {type(event.body): event.at for event in events[:-1]}
    assert {times[each] for each in (Setting, UserMessage, Request)} == {sent}
    assert times[Hold] == sent + 5_000
    assert times[RequestAnswer] == times[AssistantMessage] == times[Usage] == sent + 5_020
    assert events[-1].at > sent + 6_000, "what the user sets is set now"


def test_a_session_counts_as_recorded_until_something_is_said_here(recording: Recording) -> None:
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")))
    recording.pass_through(MESSAGES, claude(user("look"), said("done"), user("and?")), answered(said("no")))
    session = recording.store.session(recording.store.list()[0].id, write=False)
    assert as_source("", session.events()).recorded
    recording.sessions.close()
    mine = recording.store.session(session.id)
    mine.append(UserMessage("mine"))
    assert not as_source("", mine.events()).recorded


def test_the_folder_of_a_session_is_the_one_that_the_prompt_names(recording: Recording) -> None:
    prompt = "You are an agent.\nWorking directory: /srv/bakery\n"
    recording.pass_through(MESSAGES, claude(user("look"), system=prompt), answered(said("done")))
    assert [info.folder for info in recording.store.list()] == ["/srv/bakery"]


def test_a_folder_whose_name_is_not_text_belongs_to_a_session_all_the_same(recording: Recording) -> None:
    prompt = "You are an agent.\nWorking directory: /srv/caf\udce9\n"
    recording.pass_through(MESSAGES, claude(user("look"), system=prompt), answered(said("done")))
    recording.pass_through(
        MESSAGES, claude(user("look"), said("done"), user("and?"), system=prompt), answered(said("no"))
    )
    assert [(info.folder, info.title) for info in recording.store.list()] == [("/srv/caf\ufffd", "look")]


def test_a_request_that_is_sent_again_is_another_request_and_no_other_message(recording: Recording) -> None:
    asked = recording.send(MESSAGES, claude(user("look")))
    recording.answer(asked, {"error": {"message": "slow down"}}, 429)
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")))
    assert len(recording.requests()) == 2
    assert [body.message for body in recording.bodies() if isinstance(body, Failure)] == ["HTTP 429: slow down"]
    assert sum(isinstance(body, UserMessage) for body in recording.bodies()) == 1


def test_an_answer_that_was_cut_says_so_and_what_the_agent_kept_of_it_is_the_same(recording: Recording) -> None:
    asked = recording.send(MESSAGES, claude(user("look")))
    recording.answer(asked, answered(said("I see tw")), problem="the provider broke off")
    recording.pass_through(MESSAGES, claude(user("look"), said("I see tw"), user("go on")), answered(said("o")))
    told = [body for body in recording.bodies() if isinstance(body, AssistantMessage)]
    assert [(body.content, body.finish) for body in told] == [("I see tw", "broken"), ("o", "stop")]
    assert not any(isinstance(body, Override) for body in recording.bodies())


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_a_call_with_a_number_that_json_cannot_hold_is_stored(recording: Recording, number: str) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c1", "name": "ls"}},
        {"type": "content_block_delta", "index": 0, "delta": {"partial_json": f'{{"b": {number}}}'}},
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    answer = unpack_answer("anthropic", stream, {"Content-Type": "text/event-stream"})
    recording.pass_through(MESSAGES, claude(user("look")), answer)
    recording.pass_through(
        MESSAGES, claude(user("look"), called("c1", b=number), result("c1", "a")), answered(said("o"))
    )
    assert [body.arguments for body in recording.bodies() if isinstance(body, ToolCall)] == [f'{{"b": "{number}"}}']
    assert [body.content for body in recording.bodies() if isinstance(body, AssistantMessage)] == ["o"]


def test_what_is_asked_beside_the_conversation_is_named_and_attached(recording: Recording) -> None:
    title = claude(user("look"), system="Write a title for this conversation.", tools=[])
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")), ONE)
    recording.pass_through(MESSAGES, title, answered(said("Looking")), ONE)
    recording.pass_through("/v1/messages/count_tokens", claude(user("look")), {"input_tokens": 12}, ONE)
    recording.pass_through(MESSAGES, claude(user("look"), said("done"), user("and?")), answered(said("no")), ONE)
    assert len(recording.store.list()) == 1
    told = [(each.purpose, each.name) for each in recording.requests()]
    assert told == [("turn", ""), ("side", "title"), ("side", "counting"), ("turn", "")]
    spoken = [body.content for body in recording.bodies() if isinstance(body, AssistantMessage)]
    assert spoken == ["done", "no"]


def test_a_title_that_is_asked_for_first_does_not_become_the_conversation(recording: Recording) -> None:
    title = claude(user("look"), system="Write a title for this conversation.", tools=[])
    asked = recording.send(MESSAGES, title, ONE)
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")), ONE)
    recording.answer(asked, answered(said("Looking")))
    assert len(recording.store.list()) == 1
    assert recording.store.list()[0].title == "look"
    assert [body.content for body in recording.bodies() if isinstance(body, AssistantMessage)] == ["done"]


def test_what_an_agent_without_ids_asks_before_the_conversation_begins_belongs_to_it(recording: Recording) -> None:
    router = claude(user("look"), system="You are a task router: judge the complexity.", tools=[])
    recording.pass_through(MESSAGES, router, answered(said("simple")))
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")))
    assert len(recording.store.list()) == 1
    assert [(each.purpose, each.name) for each in recording.requests()] == [("side", "routing"), ("turn", "")]


def test_a_session_is_called_after_what_the_user_said_and_lies_where_the_agent_works(recording: Recording) -> None:
    parts = ["<system-reminder>\nskills: a, b\n</system-reminder>", "look at it", "<current_date>1</current_date>"]
    content = [{"type": "text", "text": text} for text in parts]
    hint = "<description>what is done within this working directory.</description>"
    system = f"You are an agent.\n{hint}\nPrimary working directory: /srv/my project\nPlatform: linux"
    recording.pass_through(MESSAGES, claude({"role": "user", "content": content}, system=system), answered(said("ok")))
    info = recording.store.list()[0]
    assert (info.title, info.folder) == ("look at it", "/srv/my project")


def test_keys_are_never_stored(recording: Recording) -> None:
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")), {**ONE, "Cookie": "c00kie"})
    assert recording.requests()[0].headers == {"user-agent": "claude-cli/2.1", "x-claude-code-session-id": "one"}


def test_a_sub_agent_is_a_session_of_its_own_that_names_its_parent(recording: Recording) -> None:
    recording.pass_through(MESSAGES, claude(user("look")), answered(called("c1", prompt="count the lines")), ONE)
    agent = {**ONE, "x-claude-code-agent-id": "a1"}
    recording.pass_through(MESSAGES, claude(user("count the lines"), system="You count."), answered(said("9")), agent)
    assert len(recording.store.list()) == 2
    request = recording.requests(1)[0]
    assert (request.purpose, request.agent, request.parent) == ("sub-agent", "a1", "one")
    told = recording.requests(0)[-1]
    child = next(info.id for info in recording.store.list() if info.title.startswith("sub-agent: "))
    assert (told.purpose, told.agent, told.session, told.messages) == ("sub-agent", "a1", child, ())


def test_a_sub_agent_without_an_id_is_known_by_its_task(recording: Recording) -> None:
    task = "count the lines of all files under src"
    recording.pass_through(MESSAGES, claude(user("look")), answered(called("c1", prompt=task)))
    recording.pass_through(MESSAGES, claude(user(task), system="You count."), answered(said("9")))
    parent = next(info.id for info in recording.store.list() if info.title == "look")
    request = recording.requests(1)[0]
    assert (request.purpose, request.parent) == ("sub-agent", parent)


@pytest.mark.parametrize("kind", ["prewarm", "turn"])
def test_a_title_that_codex_has_made_in_another_thread_is_beside_the_conversation(
    recording: Recording, kind: str
) -> None:
    def asked(text: str, thread: str, source: str) -> tuple[dict[str, Any], dict[str, str]]:
        turn = json.dumps({"request_kind": kind, "thread_source": source}, separators=(",", ":"))
        body = {
            "model": "gpt-5",
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
            "tools": [{"type": "custom", "name": "apply_patch"}],
            "client_metadata": {"x-codex-turn-metadata": turn},
        }
        return body, {"user-agent": "codex-tui/0.166", "originator": "codex-tui", "session-id": thread}

    said = {"id": "r1", "output": [{"type": "message", "role": "assistant", "content": []}], "usage": {}}
    body, headers = asked("read a.txt", "one", "user")
    recording.pass_through("/v1/responses", body, said, headers)
    title, headers = asked("Generate a task title. User prompt: read a.txt", "two", "thread_title")
    recording.pass_through("/v1/responses", title, said, headers)
    assert [(each.purpose, each.name) for each in recording.requests()] == [("turn", ""), ("side", "title")]
    assert [info.title for info in recording.store.list()] == ["read a.txt"]
    assert recording.sent()[1] == title


def test_conversations_without_an_id_are_told_apart_by_how_they_begin(recording: Recording) -> None:
    for text in ("one", "two"):
        recording.pass_through(MESSAGES, claude(user(text)), answered(said(f"did {text}")))
    for text in ("one", "two"):
        more = claude(user(text), said(f"did {text}"), user("more"))
        recording.pass_through(MESSAGES, more, answered(said("ok")))
    assert [len(recording.requests(number)) for number in (0, 1)] == [2, 2]


SUMMARY = "The user wants all files listed; a.py and b.py were found, and nothing else is left to do here."


@pytest.mark.parametrize("headers", [ONE, {}])
def test_the_agents_own_compaction_is_one(recording: Recording, headers: dict[str, str]) -> None:
    talk = [user("look"), called("c1"), result("c1", "a.py\n" * 300)]
    recording.pass_through(MESSAGES, claude(*talk[:1]), answered(called("c1")), headers)
    recording.pass_through(MESSAGES, claude(*talk), answered(said("a.py"), 900), headers)
    wish = user("Your task is to create a detailed summary of the conversation so far.")
    framed = f"<analysis>\nhm\n</analysis>\n<summary>\n{SUMMARY}\n</summary>"
    recording.pass_through(MESSAGES, claude(*talk, said("a.py"), wish), answered(said(framed), 950), headers)
    after = claude(user(f"This session is being continued. {SUMMARY}"), user("go on"))
    recording.pass_through(MESSAGES, after, answered(said("ok"), 60), headers)
    assert len(recording.store.list()) == 1
    assert [each.purpose for each in recording.requests()] == ["turn", "turn", "compaction", "turn"]
    made = next(body for body in recording.bodies() if isinstance(body, Compaction))
    bodies = recording.bodies()
    assert isinstance(bodies[made.first - 1], UserMessage)
    assert bodies[made.last - 1] == next(body for body in bodies if isinstance(body, AssistantMessage))
    assert SUMMARY in made.summary
    assert recording.sent()[-1] == after
    (entry,) = read_record(number_events(bodies)).entries
    noted = entry.details
    assert noted.tokens_before == 900 + 30 + 7, "sent, from the cache and answered, as was reported last"
    assert noted.tokens_after is not None
    assert 50 < noted.tokens_after < 300, "counted, and in the measure of what was reported for the summary's request"
    assert (noted.seconds, noted.model) == (0.02, "claude-sonnet-4-5-20250929")
    assert entry_figures(entry) == f"request 937 → {noted.tokens_after} tokens"


def test_a_compaction_is_known_behind_a_result_and_before_a_reminder(recording: Recording) -> None:
    """As Claude Code asks for it where a tool ran last: it keeps back its last answer."""
    answer = result("c1", "a.py\n" * 3_000)
    talk = [user("look"), called("c1"), answer]
    recording.pass_through(MESSAGES, claude(*talk), answered(said("a.py"), 900), ONE)
    wish = {
        "type": "text",
        "text": "Your task is to create a detailed summary of the conversation so far." + "\n" * 5_000,
    }
    reminder = {"role": "system", "content": "The task tools haven't been used recently."}
    asked = claude(*talk[:2], {"role": "user", "content": [*answer["content"], wish]}, reminder)
    recording.pass_through(MESSAGES, asked, answered(said(f"<summary>\n{SUMMARY}\n</summary>"), 950), ONE)
    after = claude(user(f"This session is being continued. {SUMMARY}"), said("a.py"), user("go on"))
    recording.pass_through(MESSAGES, after, answered(said("ok"), 60), ONE)
    assert [each.purpose for each in recording.requests()] == ["turn", "compaction", "turn"]
    assert [SUMMARY in body.summary for body in recording.bodies() if isinstance(body, Compaction)] == [True]
    assert recording.sent()[-1] == after


def test_words_that_a_tool_gave_ask_for_no_compaction(recording: Recording) -> None:
    quoted = result("c1", "Your task is to create a detailed summary of the conversation so far.")
    recording.pass_through(MESSAGES, claude(user("look"), called("c1"), quoted), answered(said("a prompt")), ONE)
    assert [each.purpose for each in recording.requests()] == ["turn"]


def test_results_in_other_words_were_masked_by_the_agent(recording: Recording) -> None:
    talk = [user("look"), called("c1"), result("c1", "a.py " * 50)]
    recording.pass_through(MESSAGES, claude(*talk), answered(said("many")), ONE)
    cleared = [*talk[:2], result("c1", "[cleared]"), said("many"), user("and?")]
    recording.pass_through(MESSAGES, claude(*cleared), answered(said("no")), ONE)
    made = [body for body in recording.bodies() if isinstance(body, Override)]
    assert [(each.action, each.why, each.text) for each in made] == [("mask", MASKED, "[cleared]")]
    assert isinstance(recording.bodies()[made[0].first - 1], ToolResult)
    assert sum(isinstance(body, ToolResult) for body in recording.bodies()) == 1


def test_what_the_agent_does_not_send_any_more_is_left_out(recording: Recording) -> None:
    recording.pass_through(MESSAGES, claude(user("look"), said("what at?"), user("nothing")), answered(said("ok")), ONE)
    recording.pass_through(MESSAGES, claude(user("look"), said("what at?"), user("a.py")), answered(said("1")), ONE)
    gone = [body for body in recording.bodies() if isinstance(body, Override)]
    texts = [getattr(recording.bodies()[each.first - 1], "content", "") for each in gone]
    assert texts == ["nothing", "ok"]
    assert {each.why for each in gone} == {LEFT_OUT}


def test_where_the_disk_takes_nothing_it_is_told_and_stored_later(recording: Recording) -> None:
    recording.pass_through(MESSAGES, claude(user("look")), answered(said("done")))
    database = recording.store._database
    size = database._db.execute("PRAGMA page_count").fetchone()[0]
    database._db.execute(f"PRAGMA max_page_count = {size}")
    long = claude(user("look"), said("done"), user("x" * 500_000))
    with pytest.raises(StoreError, match="disk is full"):
        recording.send(MESSAGES, long)
    database._db.execute("PRAGMA max_page_count = 1000000")
    more = claude(*long["messages"], said("yes"), user("and?"))
    recording.pass_through(MESSAGES, more, answered(said("no")))
    assert recording.sent()[-2:] == [long, more]


def test_secrets_can_be_masked_in_what_is_stored(tmp_path: Path) -> None:
    with Store.open(tmp_path / "proxy.db") as store:
        recording = Recording(store, redact=redacted)
        key = "-".join(("sk", "ant", "api03", "a1B2" * 8))
        text = f"OPENAI_API_KEY={key}\nname = value\npassword: hunter2hunter2\npostgres://ann:s3cret@db/x"
        recording.pass_through(MESSAGES, claude(user(text)), answered(said(f"your key is {key}")))
        recording.sessions.close()
    stored = sqlite3.connect(tmp_path / "proxy.db").execute("SELECT group_concat(data) FROM events").fetchone()[0]
    assert all(secret not in stored for secret in (key, "hunter2", "s3cret"))
    assert "name = value" in stored


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
STEPS = st.lists(st.sampled_from(["ask", "call", "drop last", "clear", "forget", "again"]), min_size=1, max_size=12)


@few_cases()
@given(STEPS, st.lists(WORDS, min_size=12, max_size=12), st.sampled_from([ONE, {}]))
def test_whatever_an_agent_does_to_its_past_each_request_is_kept_as_it_was_sent(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], words: list[str], headers: dict[str, str]
) -> None:
    with Store.open(tmp_path_factory.mktemp("proxy") / "proxy.db") as store:
        recording = Recording(store)
        talk: list[dict[str, Any]] = [user("begin")]
        sent: list[dict[str, Any]] = []
        for number, (step, word) in enumerate(zip(steps, words, strict=False)):
            if step == "drop last":
                del talk[1:][-2:]
            elif step == "clear":
                cleared = (at for at, each in enumerate(talk) if isinstance(each["content"], list))
                talk = [*talk]
                for at in cleared:
                    if talk[at]["content"][0]["type"] == "tool_result":
                        talk[at] = result(talk[at]["content"][0]["tool_use_id"], "[cleared]")
            elif step == "forget":
                talk = [talk[0], *talk[3:]]
            sent.append(claude(*talk))
            reply = called(f"c{number}") if step == "call" else said(word)
            recording.pass_through(MESSAGES, sent[-1], answered(reply, 40 + number), headers)
            if step != "again":
                answer = result(f"c{number}", word) if step == "call" else user(word)
                talk = [*talk, reply, answer]
        recording.sessions.close()
        found = [each for number in range(len(store.list())) for each in recording.sent(number)]
        assert sorted(map(repr, found)) == sorted(map(repr, sent))
        for number in range(len(store.list())):
            names = [body.hash for body in recording.bodies(number) if isinstance(body, RequestPart)]
            assert len(names) == len(set(names))
            assert any(isinstance(body, Setting) for body in recording.bodies(number))


def test_a_number_that_is_too_large_for_any_is_recorded_as_it_is_written(recording: Recording) -> None:
    raw = json.dumps(claude(user("look"))).replace('"max_tokens": 100', '"max_tokens": 1e999, "top_p": NaN')
    body = read_body(raw.encode(), {})
    recording.pass_through("/v1/messages", body, answered(said("done")))
    [sent] = recording.sent()
    assert (sent["max_tokens"], sent["top_p"]) == ("1e999", "NaN")


def test_a_title_that_responses_ask_for_in_a_developer_item_is_beside_the_conversation(recording: Recording) -> None:
    head = {"model": "gpt-5", "store": False}
    title = [
        {"role": "developer", "content": "You are a title generator. Answer with a title of at most 50 letters."},
        {"role": "user", "content": [{"type": "input_text", "text": "Generate a title for this conversation:"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "look around"}]},
    ]
    main = [
        {"role": "developer", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "input_text", "text": "look around"}]},
    ]
    tools = [{"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}]
    answer = {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}]}
    session = {"x-session-id": "s1"}
    recording.pass_through("/v1/responses", {**head, "input": title}, {"id": "r1", **answer}, session)
    recording.pass_through("/v1/responses", {**head, "input": main, "tools": tools}, {"id": "r2", **answer}, session)
    assert [(each.purpose, each.name) for each in recording.requests()] == [("side", "title"), ("turn", "")]
    assert not [body for body in recording.bodies() if isinstance(body, Override)]


def test_marks_that_copilot_moves_from_message_to_message_change_nothing(recording: Recording) -> None:
    mark = {"copilot_cache_control": {"type": "ephemeral"}}
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    reply = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    begin = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "look"}]
    first = {"model": "m", "messages": [begin[0], {**begin[1], **mark}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
    then = {"model": "m", "messages": [{**begin[0], **mark}, begin[1], reply, {**result, **mark}]}
    done = {"role": "assistant", "content": "Done."}
    more = {"role": "user", "content": "more", "copilot_cache_control": {"type": "other"}}
    last = {"model": "m", "messages": [*begin, reply, result, done, more]}
    headers = {"x-client-session-id": "s1", "User-Agent": "copilot/1.0.102"}
    for body, answer in ((first, reply), (then, done), (last, done)):
        recording.pass_through("/chat/completions", body, {"choices": [{"message": answer}]}, headers)
    assert not [body for body in recording.bodies() if isinstance(body, Override)]
    assert recording.sent() == [first, then, last]
    assert len(recording.store.list()) == 1


def _smol(*texts: str, system: str = "You solve tasks.") -> dict[str, Any]:
    """A request as smolagents sends it: calls and results in words, and what is new joined to the last message."""
    roles = ("user", "assistant") * 2
    messages = [
        {"role": role, "content": [{"type": "text", "text": text}]} for role, text in zip(roles, texts, strict=False)
    ]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *messages]}


def test_a_last_message_that_grows_is_the_same_conversation(recording: Recording) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    answer = {"choices": [{"message": {"role": "assistant", "content": "I look.", "tool_calls": [call]}}]}
    told = "I look.\nCalling tools:\n[{'id': 'c1', 'function': {'name': 'ls'}}]"
    path = "/v1/chat/completions"
    recording.pass_through(path, _smol("New task:\nlook"), answer)
    recording.pass_through(path, _smol("New task:\nlook", told, "Observation:\na.py"), answer)
    recording.pass_through(path, _smol("New task:\nlook", told, "Observation:\na.py\nError:\nno"), answer)
    last = _smol("New task:\nlook", told, "Observation:\na.py\nError:\nno\nGive up.", system="It got stuck.")
    recording.pass_through(path, last, {"choices": [{"message": {"role": "assistant", "content": "done"}}]})
    assert len(recording.store.list()) == 1
    assert [each.purpose for each in recording.requests()] == ["turn"] * 4
    said = [body.why for body in recording.bodies() if isinstance(body, Override)]
    assert said.count(GROWN) == 2
    other = _smol("New task:\nlook at another thing")
    recording.pass_through(path, other, answer)
    assert len(recording.store.list()) == 2, "the same first words are another conversation"
