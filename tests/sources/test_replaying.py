"""A recorded request is sent again as it was or with what was asked for, and what comes back is compared."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from support.bodies import Call, Reply, Said, written
from support.provider import Answer, Provider, Step
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.values import replace
from workbench.log.events import DialectName, OwnDialect, Request, ToolResult
from workbench.proxy.replay_targets import headers_again
from workbench.proxy.routes import Upstreams, route_of
from workbench.proxy.sessions import ProxySessions, ReceivedAnswer, SentRequest
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer, answer_difference, answer_figures, marked_lines
from workbench.sources.replaying import ReplayJob, ReplayWish, prepare_replay, send_replay
from workbench.sources.services import Services
from workbench.wire.dialects import DIALECTS
from workbench.wire.rewriting import Rewrite, items_in, rewritten

PATHS: dict[DialectName, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
    "ollama": "/api/chat",
}
MODELS: dict[DialectName, str] = {
    "chat": "gpt-4o",
    "responses": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "ollama": "qwen3:8b",
}
KEYS: dict[DialectName, tuple[str, str, str]] = {
    "chat": ("OPENAI_API_KEY", "authorization", "Bearer s3cret"),
    "responses": ("OPENAI_API_KEY", "authorization", "Bearer s3cret"),
    "anthropic": ("ANTHROPIC_API_KEY", "x-api-key", "s3cret"),
    "gemini": ("GEMINI_API_KEY", "x-goog-api-key", "s3cret"),
}
TALK = (
    Said(("look",)),
    Reply("", "", (Call("c1", "ls", False, "a.py b.py\n" * 400),)),
    Reply("hm", "I saw it.", ()),
    Said(("go on",)),
)


def answer(dialect: DialectName, text: str) -> dict[str, Any]:
    """What a provider answers, with its report."""
    model = MODELS[dialect]
    match dialect:
        case "chat":
            used = {"prompt_tokens": 1_000, "completion_tokens": 10}
            choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return {"model": model, "choices": [choice], "usage": used}
        case "anthropic":
            used = {"input_tokens": 1_000, "output_tokens": 10}
            return {"model": model, "content": [{"type": "text", "text": text}], "usage": used}
        case "responses":
            used = {"input_tokens": 1_000, "output_tokens": 10}
            said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            return {"model": model, "output": [said], "usage": used}
        case "gemini":
            used = {"promptTokenCount": 1_000, "candidatesTokenCount": 10}
            parts = {"content": {"role": "model", "parts": [{"text": text}]}}
            return {"modelVersion": model, "candidates": [parts], "usageMetadata": used}
        case "ollama":
            used = {"prompt_eval_count": 1_000, "eval_count": 10}
            return {"model": model, "message": {"role": "assistant", "content": text}, "done": True, **used}
    raise AssertionError(f"no such dialect: {dialect}")


def asked(dialect: DialectName) -> dict[str, Any]:
    body = written(dialect, TALK)
    return body if dialect == "gemini" else {**body, "model": MODELS[dialect], "stream": True}


def record(services: Services, dialect: DialectName, body: dict[str, Any] | None = None) -> str:
    """A session of the proxy with one request, which was answered."""
    sessions = ProxySessions(lambda: services.store)
    route = route_of(PATHS[dialect], {})
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "x-1", "user-agent": "it"}
    sent = sessions.open_request(SentRequest(route, headers, body or asked(dialect), 1))
    assert sent is not None
    sessions.add_answer(sent, ReceivedAnswer(200, {}, answer(dialect, "one\ntwo"), 10, 1_500))
    sessions.close()
    [info] = services.store.list()
    return info.id


def ready(services: Services, session: str, wish: ReplayWish, **options: Any) -> ReplayJob:
    return prepare_replay(services, Options(**options), services.source(session), wish)


async def answers(services: Services, job: ReplayJob) -> list[ReplayAnswer]:
    return [each async for each in send_replay(services, job)]


def json_answer(body: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status=status, body=json.dumps(body).encode(), content_type="application/json")


@pytest.mark.parametrize("dialect", KEYS)
async def test_a_request_is_sent_as_it_was_with_the_providers_key(
    dialect: DialectName, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, value = KEYS[dialect]
    monkeypatch.setenv(variable, "s3cret")
    session = record(services, dialect)
    async with Provider(json_answer(answer(dialect, "one\nthree"))) as provider:
        job = ready(services, session, ReplayWish(times=2, to=provider.url.removesuffix("/v1"), send_key=True))
        made = await answers(services, job)
    expected = asked(dialect)
    if dialect == "chat":
        del expected["stream"]
    assert [request.body for request in provider.requests] == [expected, expected]
    assert {(request.path, request.headers[header]) for request in provider.requests} == {(PATHS[dialect], value)}
    if dialect == "anthropic":
        assert provider.requests[0].headers["anthropic-beta"] == "x-1"
    assert job.recorded is not None
    assert (job.recorded.text, job.recorded.prompt, job.recorded.seconds) == ("one\ntwo", 1_000, 1.5)
    for each in made:
        assert (each.text, each.prompt, each.completion, each.problem) == ("one\nthree", 1_000, 10, "")
        assert each.cost == job.recorded.cost
        assert each.cost
        assert answer_difference(each, job.recorded) == ["  one", "- two", "+ three"]
        assert marked_lines(each, job.recorded) == ["  one", "+ three"]
        assert each.likeness(job.recorded) == 0.5


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_an_event_and_its_path_are_left_out_with_their_call(dialect: DialectName, services: Services) -> None:
    session = record(services, dialect)
    events = services.source(session).events
    [seq] = [event.seq for event in events if isinstance(event.body, ToolResult)]
    [path] = [item.path for item in items_in(dialect, asked(dialect)) if item.kind == "result"]
    by_event = ready(services, session, ReplayWish(exclude=(str(seq),)))
    by_path = ready(services, session, ReplayWish(exclude=(path,)))
    assert by_event == by_path
    assert by_path.body == rewritten(dialect, asked(dialect), Rewrite(frozenset({path})))
    assert not [item for item in items_in(dialect, by_path.body) if item.kind in ("call", "result")]
    as_it_was = ready(services, session, ReplayWish())
    assert as_it_was.tokens > by_path.tokens + 500
    masked = ready(services, session, ReplayWish(mask=(f"{path}=gone", f"{seq}=gone")))
    assert [item.text for item in items_in(dialect, masked.body) if item.kind == "result"] == ["gone"]
    marked = ready(services, session, ReplayWish(mask=(path,)))
    [text] = [item.text for item in items_in(dialect, marked.body) if item.kind == "result"]
    assert text.startswith("[result masked — ~1000 tokens removed]")


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
async def test_another_policy_and_another_model(
    dialect: DialectName, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = record(services, dialect)
    async with Provider(json_answer(answer(dialect, "x"))) as provider:
        wish = ReplayWish(to=provider.url.removesuffix("/v1"))
        job = ready(services, session, wish, knobs=("truncation.max_tokens=200",), model="other")
        await answers(services, job)
    [sent] = provider.requests
    assert sent.path == PATHS[dialect].replace("gemini-2.5-pro", "other")
    assert sent.body.get("model") == (None if dialect == "gemini" else "other")
    [item] = [item for item in items_in(dialect, sent.body) if item.kind == "result"]
    assert job.changes.mask == {item.path: item.text}
    assert len(item.text) < 2_000


def test_what_was_asked_is_compared_with_the_answer_to_what_was_sent_in_its_place(services: Services) -> None:
    sessions = ProxySessions(lambda: services.store)
    body, where = asked("anthropic"), route_of(PATHS["anthropic"], {})
    sent = sessions.open_request(SentRequest(where, {}, body, 1))
    assert sent is not None
    masked = rewritten("anthropic", body, Rewrite(mask={"messages.2.0": "gone"}))
    sent = sessions.replace_request(sent, SentRequest(where, {}, masked, 2))
    sessions.add_answer(sent, ReceivedAnswer(200, {}, answer("anthropic", "it is gone"), 10, 1_500))
    sessions.close()
    [info] = services.store.list()
    jobs = [ready(services, info.id, ReplayWish(number)) for number in (1, 2)]
    assert [job.body for job in jobs] == [body, masked]
    for job in jobs:
        assert job.recorded is not None
        assert (job.recorded.text, job.recorded.prompt) == ("it is gone", 1_000)
    assert ready(services, info.id, ReplayWish()).body == masked


async def test_what_goes_wrong_with_one_try_is_told_and_the_others_are_made(services: Services) -> None:
    session = record(services, "anthropic")
    limit = json_answer({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, 429)
    fine = json_answer(answer("anthropic", "one\ntwo"))
    async with Provider(limit, Answer(before="close"), json_answer({}), fine) as provider:
        made = await answers(
            services, ready(services, session, ReplayWish(times=4, to=provider.url.removesuffix("/v1")))
        )
    problems = [each.problem for each in made]
    assert problems[0] == "HTTP 429: slow down"
    assert problems[1].startswith("no answer: ")
    assert problems[2:] == ["nothing was answered", ""]
    assert made[3].text == "one\ntwo"


async def test_calls_in_an_answer_are_lines_and_streams_are_read(services: Services) -> None:
    session = record(services, "anthropic")
    events: list[Step] = [
        {"type": "message_start", "message": {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "Read"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"file_path": "a.py"}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    ]
    async with Provider(Answer(events)) as provider:
        [made] = await answers(services, ready(services, session, ReplayWish(to=provider.url.removesuffix("/v1"))))
    assert made.calls == (("Read", '{"file_path": "a.py"}'),)
    assert made.lines == ["→ Read a.py"]
    assert (made.prompt, made.completion) == (9, 3)


def test_the_last_figure_of_an_answer_is_its_problem_or_its_calls() -> None:
    answers = (ReplayAnswer("m"), ReplayAnswer("m", calls=(("ls", "{}"),)), ReplayAnswer("m", problem="too slow"))
    assert [answer_figures(each, None)[-1] for each in answers] == [("", ""), ("", "1 call"), ("", "too slow")]


async def test_the_rehearsal_model_costs_nothing_and_needs_no_key(services: Services) -> None:
    session = record(services, "responses")
    for job in (
        ready(services, session, ReplayWish(to="rehearsal")),
        ready(services, session, ReplayWish(), model="rehearsal"),
    ):
        assert (job.is_free, job.cost) == (True, 0.0)
        [made] = await answers(services, job)
        assert made.text
        assert made.problem == ""


async def test_without_a_key_it_says_which(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, _, _ in KEYS.values():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("workbench.models.keys.find_spec", lambda _: None)
    job = ready(services, record(services, "anthropic"), ReplayWish())
    with pytest.raises(WrongCall, match="no key for anthropic: set ANTHROPIC_API_KEY"):
        await answers(services, job)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (ReplayWish(times=0), "-n: expected a number from 1 to 20"),
        (ReplayWish(number=7), "--at: expected a number from 1 to 1, got 7"),
        (ReplayWish(exclude=("9999",)), "9999: no such event in the request"),
        (ReplayWish(exclude=("9" * 5_000,)), "9: no such event in the request"),
        (ReplayWish(exclude=("messages.77",)), "messages.77: the request has nothing there"),
        (ReplayWish(exclude=("messages.4",)), "the last message"),
    ],
)
def test_what_cannot_be_asked_for_is_told_in_a_line(services: Services, wish: ReplayWish, said: str) -> None:
    session = record(services, "anthropic")
    with pytest.raises(WorkbenchError, match=said):
        ready(services, session, wish)


def test_a_request_that_is_only_inferred_is_refused_and_why(services: Services, talk: Any) -> None:
    for wish in (ReplayWish(number=1), ReplayWish()):
        with pytest.raises(Refused, match="workbench proxy"):
            prepare_replay(services, Options(), services.source(str(talk)), wish)


# Where keys go, and what a log from elsewhere may say


@pytest.mark.parametrize("dialect", KEYS)
async def test_a_key_does_not_go_to_another_server_unless_the_user_says_so(
    dialect: DialectName, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, _ = KEYS[dialect]
    monkeypatch.setenv(variable, "s3cret")
    session = record(services, dialect)
    async with Provider(json_answer(answer(dialect, "x"))) as provider:
        address = provider.url.removesuffix("/v1")
        job = ready(services, session, ReplayWish(to=address))
        assert f"at {address}, without your key, which --send-key would send," in job.question
        await answers(services, job)
        [request] = provider.requests
        assert header not in request.headers
        assert "s3cret" not in str(request)
        allowed = ready(services, session, ReplayWish(to=address, send_key=True))
    assert f"at {address}, with your key {variable}," in allowed.question


@pytest.mark.parametrize("dialect", KEYS)
async def test_a_key_goes_to_the_provider_and_to_where_the_users_variables_lead(
    dialect: DialectName, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, value = KEYS[dialect]
    monkeypatch.setenv(variable, "s3cret")
    asked = DIALECTS[dialect].provider
    for name in asked.variables:
        monkeypatch.delenv(name, raising=False)
    session = record(services, dialect)
    home = str(URL(asked.address).origin())
    for to in ("", asked.address, f"{home}:443/x"):
        job = ready(services, session, ReplayWish(to=to))
        assert (job.sends_key, f"at {home}, with your key {variable}," in job.question) == (True, True)
    for to in (home.replace("https:", "http:"), f"{home}.example", f"{home}@evil.example", f"{home}:8443"):
        assert not ready(services, session, ReplayWish(to=to)).sends_key
    async with Provider(json_answer(answer(dialect, "x"))) as provider:
        monkeypatch.setenv(asked.variables[0], provider.url.removesuffix("/v1"))
        await answers(services, ready(services, session, ReplayWish()))
    assert [request.headers[header] for request in provider.requests] == [value]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret")
    session = record(services, "anthropic")
    async with (
        Provider(json_answer({})) as other,
        Provider(Answer(status=status, headers={"Location": f"{other.url}/messages"})) as provider,
    ):
        wish = ReplayWish(to=provider.url.removesuffix("/v1"), send_key=True)
        [made] = await answers(services, ready(services, session, wish))
    assert f"HTTP {status}" in made.problem
    assert other.requests == []


@pytest.mark.parametrize(
    "name",
    ["../../upload/x", "a/../b", "x?y", "x#y", "x%2f", "x\r\nX: y", "x\\y", "http://h/x", "", "x" * 300, "/x", "."],
)
def test_a_log_does_not_choose_the_path(services: Services, name: str) -> None:
    session = record(services, "gemini")
    source = services.source(session)
    events = [
        replace(event, body=replace(event.body, model=name)) if isinstance(event.body, Request) else event
        for event in source.events
    ]
    if name:
        with pytest.raises(Refused, match="is no model"):
            prepare_replay(services, Options(), source._replace(events=events), ReplayWish())
    assert prepare_replay(services, Options(model="gemini-2.5-pro"), source._replace(events=events), ReplayWish()).model


def test_the_model_in_the_question_is_the_one_that_is_asked(services: Services) -> None:
    session = record(services, "chat")
    source = services.source(session)
    events = [
        replace(event, body=replace(event.body, model="cheap", parameters={"model": "dear"}))
        if isinstance(event.body, Request)
        else event
        for event in source.events
    ]
    with pytest.raises(Refused, match="is no model"):
        prepare_replay(services, Options(), source._replace(events=events), ReplayWish())


@given(st.text())
def test_a_models_name_is_one_step_of_the_path(name: str) -> None:
    url = Upstreams("https://h.example").address("gemini", DIALECTS["gemini"].path_for(name))
    assert url.raw_path.count("/") == 3
    assert (url.host, url.raw_query_string, url.raw_fragment) == ("h.example", "", "")
    assert url.raw_path.startswith("/v1beta/models/")
    assert url.raw_path.isascii()


@given(
    st.dictionaries(st.sampled_from(["anthropic-beta", "Anthropic-Version", "openai-beta", "cookie", "x"]), st.text())
)
def test_only_headers_of_one_line_are_sent_again(headers: dict[str, str]) -> None:
    found = headers_again(headers)
    assert found.keys() <= {"anthropic-beta", "anthropic-version", "openai-beta"}
    assert all(value.isascii() and value.isprintable() and value for value in found.values())


async def test_a_key_that_is_none_is_told_in_a_line(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret\r\nX: y")
    job = ready(services, record(services, "anthropic"), ReplayWish(to="http://127.0.0.1:9", send_key=True))
    with pytest.raises(WrongCall, match="ANTHROPIC_API_KEY: expected a key") as refused:
        await answers(services, job)
    assert "s3cret" not in str(refused.value)
