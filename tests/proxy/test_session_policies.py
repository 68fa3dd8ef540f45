"""A policy for one conversation of a proxy that runs: set, changed and undone from outside, and no other is touched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import aiohttp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.conftest import Recording, called, claude, result, user
from proxy.test_policies import KNOBS, answered, passing, results, route, setup_for
from support.bodies import Call, Reply, Said, written
from support.provider import Provider
from support.random_cases import few_cases
from support.recorder_thread import in_thread
from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.log.events import ON_THE_WAY, DialectName, Override, OwnDialect, Setting, ToolResult
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.proxy import control
from workbench.proxy.control import PolicyOrder, ProxyPolicy, ReleaseOrder, RunningProxy
from workbench.proxy.conversation_marks import Conversations
from workbench.proxy.gate import Gate
from workbench.proxy.policies import CONVERSATIONS, PassingPolicies, setup_maker
from workbench.proxy.policy_preview import NOTHING, in_words, preview_policy
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.wire.parts import split_body
from workbench.wire.rewriting import items_in

SET = PolicyOrder("set", ProxyPolicy("workbench", KNOBS))
PATHS: dict[DialectName, str] = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
    "ollama": "/api/chat",
}


def without_default(batch: int, sessions: Conversations) -> PassingPolicies:
    return PassingPolicies(setup_maker(Settings(), Catalogue()), batch, None, sessions)


def asked(*steps: int, first: str = "look", size: int = 100) -> dict[str, Any]:
    """A request of Claude's after so many steps."""
    talk: list[dict[str, Any]] = [user(first)]
    for at in range(steps[0]):
        talk += [called(f"c{at}"), result(f"c{at}", f"result {at}\n" * size)]
    return claude(*talk)


def masked(body: dict[str, Any] | None) -> int:
    return 0 if body is None else sum("masked" in text for text in results("anthropic", body))


class Conversation:
    """One that is recorded, and asked for again and again."""

    def __init__(self, recording: Recording, policies: PassingPolicies, key: str = "") -> None:
        self.recording, self.policies = recording, policies
        self.headers = {"x-claude-code-session-id": key} if key else {}

    def ask(self, body: dict[str, Any]) -> dict[str, Any] | None:
        changed = self.policies.changed_body(route("anthropic"), self.headers, body)
        self.recording.pass_through("/v1/messages", body, answered_with("ok"), self.headers)
        return changed


def answered_with(text: str) -> dict[str, Any]:
    return {"id": "m", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": text}], "usage": {}}


@pytest.mark.parametrize("keys", [("one", "two"), ("", "")])
def test_a_policy_is_set_for_one_conversation_and_no_other_is_touched(
    recording: Recording, keys: tuple[str, str]
) -> None:
    policies = without_default(0, recording)
    one, two = (Conversation(recording, policies, key) for key in keys)
    assert one.ask(asked(3)) is None
    assert two.ask(asked(3, first="look here")) is None
    on = [policies.is_on]
    first, second = recording.marks
    assert policies.order(first, SET).policy == SET.policy
    assert [*on, policies.is_on] == [False, True], "nothing is read while there is none"
    assert [masked(one.ask(asked(4))), masked(two.ask(asked(4, first="look here")))] == [3, 0]
    assert policies.session_policy(first).results == 3
    assert policies.session_policy(second) == control.SessionPolicy(second, None)
    assert [each.session for each in policies.listed()] == [first, second]


def test_a_session_without_one_of_its_own_follows_the_proxy_and_can_be_without(recording: Recording) -> None:
    policies = passing(0, recording)
    one = Conversation(recording, policies)
    two = Conversation(recording, policies, "two")
    two.ask(asked(1))
    one.ask(asked(1))
    session = next(iter(recording.marks))
    told = policies.order(session, PolicyOrder("off"))
    assert (told.policy, told.own) == (None, True)
    assert [masked(one.ask(asked(3))), masked(two.ask(asked(3)))] == [2, 0]
    assert policies.order(session, PolicyOrder("default")).own is False
    assert masked(two.ask(asked(4))) == 3


def test_what_was_asked_before_the_session_is_known_keeps_its_words(recording: Recording) -> None:
    policies = passing(600, recording)
    one = Conversation(recording, policies)
    resumed = one.ask(asked(5))
    assert masked(resumed) == 4
    following = one.ask(asked(6))
    assert following is not None
    assert following["messages"][: len(resumed["messages"])] == resumed["messages"]  # type: ignore[index]


def test_switched_off_it_is_sent_in_its_words_until_a_batch_would_be_due(recording: Recording) -> None:
    policies = without_default(900, recording)
    one = Conversation(recording, policies)
    one.ask(asked(1))
    [session] = recording.marks
    policies.order(session, SET)
    counts = [masked(one.ask(asked(steps))) for steps in (2, 3, 4)]
    assert counts[-1] == 3
    told = policies.order(session, PolicyOrder("off"))
    assert (told.policy, told.leaving, told.results) == (None, 3, 3)
    later = [masked(one.ask(asked(steps))) for steps in (5, 6, 7, 8)]
    assert later == [3, 3, 0, 0], "two more would not have been enough for a batch, three are"
    assert not policies.is_on


def test_what_the_agent_changes_itself_is_no_longer_in_the_cache_and_undoing_need_not_wait(
    recording: Recording,
) -> None:
    policies = without_default(900, recording)
    one = Conversation(recording, policies, "one")
    one.ask(asked(1))
    [session] = recording.marks
    policies.order(session, SET)
    assert masked(one.ask(asked(4))) == 3
    policies.order(session, PolicyOrder("off"))
    assert masked(one.ask(asked(5))) == 3
    other = asked(5)
    other["messages"][5] = called("c2", path="other")
    assert masked(one.ask(other)) == 3, "the change comes after the first of them"
    other["tools"] = [*other["tools"], {"name": "cat", "input_schema": {"type": "object"}}]
    assert one.ask(other) is None


def test_undo_gives_the_last_batch_back_with_the_next_and_the_policy_leaves_it_alone(recording: Recording) -> None:
    policies = without_default(900, recording)
    one = Conversation(recording, policies)
    one.ask(asked(1))
    [session] = recording.marks
    policies.order(session, SET)
    with pytest.raises(WrongCall, match="nothing to undo on the way"):
        policies.order(session, PolicyOrder("undo"))
    assert [masked(one.ask(asked(steps))) for steps in (4, 7)] == [3, 6]
    told = policies.order(session, PolicyOrder("undo"))
    assert (told.leaving, told.batches) == (3, 1)
    assert [masked(one.ask(asked(steps))) for steps in (8, 9)] == [6, 6], "as before until there is a batch"
    then = one.ask(asked(10))
    assert then is not None
    assert ["masked" in text for text in results("anthropic", then)] == [True] * 3 + [False] * 3 + [True] * 3 + [False]
    assert policies.session_policy(session).leaving == 0
    notes = [body.value for body in recording.bodies() if isinstance(body, Setting) and body.key == ON_THE_WAY]
    assert notes == [
        {"do": "set", "policy": " ".join(("workbench", *KNOBS))},
        {"do": "undo", "results": 3},
    ]


def test_another_policy_takes_over_with_its_first_batch(recording: Recording) -> None:
    policies = without_default(900, recording)
    one = Conversation(recording, policies)
    one.ask(asked(1))
    [session] = recording.marks
    policies.order(session, SET)
    assert masked(one.ask(asked(4))) == 3
    policies.order(session, PolicyOrder("set", ProxyPolicy("workbench", (*KNOBS, "masking.keep_first=2"))))
    assert masked(one.ask(asked(5))) == 3
    then = one.ask(asked(8))
    assert then is not None
    assert ["masked" in text for text in results("anthropic", then)] == [False] * 2 + [True] * 5 + [False]


@few_cases()
@given(
    dialect=st.sampled_from(get_args(OwnDialect)),
    lengths=st.lists(st.integers(1, 120), min_size=3, max_size=9),
    batch=st.integers(0, 1_000),
    orders=st.dictionaries(st.integers(1, 8), st.sampled_from(["undo", "off"]), max_size=3),
)
@example(dialect="chat", lengths=[1, 1, 1, 1, 1, 4, 4, 1, 1], batch=0, orders={7: "undo", 8: "off"})
def test_between_batches_a_request_begins_with_what_the_one_before_began_with(
    tmp_path_factory: pytest.TempPathFactory,
    dialect: DialectName,
    lengths: list[int],
    batch: int,
    orders: dict[int, Any],
) -> None:
    twin = passing(batch)
    with Store.open(tmp_path_factory.mktemp("s") / "proxy.db") as store:
        recording = Recording(store)
        policies = without_default(batch, recording)
        before: list[Any] = []
        for steps in range(1, len(lengths) + 1):
            calls = [Call(f"c{at}", "ls", at % 2 == 0, f"result {at}\n" * lengths[at]) for at in range(steps)]
            body = written(dialect, (Said(("look",)), *(Reply("hm", "", (call,)) for call in calls)))
            body |= {} if dialect == "gemini" else {"model": "gpt-4o"}
            if dialect == "anthropic":  # the mark moves with the end, as clients do it
                body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
            batches = twin.figures.batches
            twin.changed_body(route(dialect), {}, body)
            sent = policies.changed_body(route(dialect), {}, body) or body
            parts = split_body(dialect, sent)
            if twin.figures.batches == batches:
                assert json.dumps(parts.messages[: len(before)]) == json.dumps(before), (
                    "not a batch, and another beginning"
                )
            before = parts.messages
            assert parts.cache_marks == split_body(dialect, body).cache_marks
            now, whole = items_in(dialect, sent), items_in(dialect, body)
            assert [each for each in now if each.kind != "result"] == [each for each in whole if each.kind != "result"]
            assert now[-1] == whole[-1], "the last message is what is answered"
            recording.pass_through(PATHS[dialect], body, {})
            [session] = recording.marks
            if steps == 1:
                policies.order(session, SET)
            elif orders.get(steps) == "off" or (orders.get(steps) and policies.session_policy(session).batches):
                policies.order(session, PolicyOrder(orders[steps]))
        recording.sessions.close()


def test_memory_is_bounded(recording: Recording) -> None:
    policies = passing(0)
    for number in range(CONVERSATIONS + 20):
        policies._conversation(f"s{number}")
    assert len(policies._conversations) == CONVERSATIONS


def test_pinned_results_are_never_changed_and_masked_ones_come_back_at_once(recording: Recording) -> None:
    policies = passing(0, recording)
    one = Conversation(recording, policies)
    one.ask(asked(1))
    assert policies.pin("anthropic", asked(2), frozenset({"messages.4.0"})) == ("c1",)
    assert policies.pinned_in("anthropic", asked(3)) == ("messages.4.0",)
    then = one.ask(asked(4))
    assert then is not None
    assert ["masked" in text for text in results("anthropic", then)] == [True, False, True, False]
    policies.pin("anthropic", asked(4), frozenset({"messages.2.0"}))
    then = one.ask(asked(4))
    assert then is not None
    assert ["masked" in text for text in results("anthropic", then)] == [False, False, True, False]
    with pytest.raises(WrongCall, match=r"messages\.1\.0: expected the path of a tool's result"):
        policies.pin("anthropic", asked(4), frozenset({"messages.1.0"}))


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_an_earlier_call_that_the_agent_leaves_out_changes_no_pin(dialect: DialectName) -> None:
    texts = ["result 0\n" * 100, *["the same again\n" * 100] * 3, "result 4\n" * 100]
    calls = [Reply("", "", (Call(f"c{at}", "ls", False, text),)) for at, text in enumerate(texts)]
    before = written(dialect, (Said(("look",)), *calls))
    now = written(dialect, (Said(("look",)), *calls[1:]))
    policies = passing(0)
    paths = [item.path for item in items_in(dialect, before) if item.kind == "result"]
    policies.pin(dialect, before, frozenset({paths[2]}))
    for body, pinned in ((before, 2), (now, 1)):
        found = [item.path for item in items_in(dialect, body) if item.kind == "result"]
        assert policies.pinned_in(dialect, body) == (found[pinned],)


def test_what_a_policy_would_change_in_a_request_is_told_before() -> None:
    body = asked(4)
    setup = setup_for("claude-sonnet-4-5")
    found = preview_policy("anthropic", body, body, setup, 500)
    assert (found.masked, found.cut, found.whole, found.is_due) == (3, 0, 0, True)
    assert 900 < found.freed < found.cache < found.tokens
    assert str(found).startswith(
        f"in the latest request: 3 results masked, about {found.freed:,} of {found.tokens:,} tokens"
    )
    sent = passing(0).changed_body(route("anthropic"), {}, body)
    assert sent is not None
    assert preview_policy("anthropic", body, sent, setup, 500).masked == 0
    off = preview_policy("anthropic", body, sent, setup, 500, masking=False)
    assert (off.whole, off.freed) == (3, -found.freed)
    assert "3 results whole again" in str(off)


def test_a_policy_is_told_in_words() -> None:
    made = setup_maker(Settings(), Catalogue())
    told = in_words(made(ProxyPolicy("layers"), ""), 4_000)
    assert told == (
        "masks results of tools but for the first 2 and the last 5 of the turn and cuts results over 8,000 tokens, "
        "as soon as that frees 4,000 tokens at once"
    )
    assert in_words(made(ProxyPolicy("sliding"), ""), 4_000) == NOTHING


# Over HTTP


class Running:
    """A proxy before a provider, with orders from outside."""

    def __init__(self, server: ProxyServer, client: aiohttp.ClientSession, gate: Gate, store: Store) -> None:
        self.proxy = RunningProxy(1, 0, server.control)
        self.gate, self._store = gate, store
        self._address, self._client = server.address, client

    async def ask(self, body: dict[str, Any]) -> int:
        async with self._client.post(f"{self._address}/v1/messages", json=body) as came:
            await came.read()
            return came.status

    async def session(self) -> str:
        """The only one, as soon as it is recorded."""
        while not (found := await asyncio.to_thread(control.policies_of, self.proxy)):
            await asyncio.sleep(0)
        return found[0].session

    async def order(self, session: str, order: PolicyOrder) -> control.SessionPolicy:
        return await asyncio.to_thread(control.order_policy, self.proxy, session, order)


@asynccontextmanager
async def running(store: Store, provider: Provider, *rules: str) -> AsyncIterator[Running]:
    recorder = in_thread(ProxySessions(lambda: store))
    policies = PassingPolicies(setup_maker(Settings(), Catalogue()), 0, None, recorder)
    gate = Gate(rules)
    async with (
        ProxyServer(Upstreams(provider.url.removesuffix("/v1")), recorder, gate=gate, policies=policies) as server,
        aiohttp.ClientSession() as client,
    ):
        yield Running(server, client, gate, store)
    await asyncio.to_thread(recorder.close)


async def test_orders_over_http(tmp_path: Path) -> None:
    with Store.open(tmp_path / "proxy.db") as store:
        async with Provider(answered(500, 0)) as provider, running(store, provider) as proxy:
            await proxy.ask(asked(1))
            session = await proxy.session()
            told = await proxy.order(session, SET)
            assert (told.policy, told.own) == (SET.policy, True)
            await proxy.ask(asked(4))
            assert masked(provider.requests[-1].body) == 3
            with pytest.raises(WrongCall, match="nowhere: no session of this proxy"):
                await proxy.order("nowhere", SET)
            with pytest.raises(WrongCall, match="nonsense"):
                await proxy.order(session, PolicyOrder("set", ProxyPolicy("nonsense")))
            assert (await proxy.order(session, PolicyOrder("undo"))).leaving == 3
            [info] = store.list()
        events = store.session(info.id, write=False).events()
        notes = [
            each.body.value["do"] for each in events if isinstance(each.body, Setting) and each.body.key == ON_THE_WAY
        ]
        assert notes == ["set", "undo"]


async def test_a_result_is_pinned_while_its_request_is_held(tmp_path: Path) -> None:
    with Store.open(tmp_path / "proxy.db") as store:
        async with Provider(answered(500, 0)) as provider, running(store, provider, "text:result 3") as proxy:
            await proxy.ask(asked(1))
            session = await proxy.session()
            await proxy.order(session, SET)
            asking = asyncio.create_task(proxy.ask(asked(4)))
            while not proxy.gate.held:
                await asyncio.sleep(0)
            [held] = proxy.gate.held
            detail = await asyncio.to_thread(control.detail_of, proxy.proxy, held)
            assert (detail.pinned, detail.policy.split()[0]) == ((), "workbench")
            wrong = ReleaseOrder("as_it_was", pin=("messages.1.0",))
            with pytest.raises(WrongCall, match="expected the path of a tool's result"):
                await asyncio.to_thread(control.release_request, proxy.proxy, held, wrong)
            await asyncio.to_thread(
                control.release_request, proxy.proxy, held, ReleaseOrder("as_it_was", pin=("messages.4.0",))
            )
            assert await asking == 200
            sent = results("anthropic", provider.requests[-1].body)
            assert ["masked" in text for text in sent] == [True, False, True, False]
            [info] = store.list()
        events = store.session(info.id, write=False).events()
        [pin] = [each.body for each in events if isinstance(each.body, Override) and each.body.action == "pin"]
        target = events[pin.first - 1].body
        assert (pin.action, isinstance(target, ToolResult) and target.call_id) == ("pin", "c1")


def test_a_proxy_that_records_nothing_has_no_sessions_to_set_one_for() -> None:
    with pytest.raises(WrongCall, match="records nothing"):
        passing(0).session_policy("s")


def test_a_session_that_goes_on_in_a_proxy_without_a_policy_says_so(tmp_path: Path) -> None:
    with Store.open(tmp_path / "proxy.db") as store:
        first = Recording(store)
        policies = without_default(0, first)
        Conversation(first, policies, "one").ask(asked(1))
        [session] = first.marks
        policies.order(session, SET)
        first.sessions.close()
        second = Recording(store)
        anew = without_default(0, second)
        assert Conversation(second, anew, "one").ask(asked(2)) is None
        assert [*second.marks] == [session]
        notes = [body.value for body in second.bodies() if isinstance(body, Setting) and body.key == ON_THE_WAY]
        assert [note["do"] for note in notes] == ["set", "default"]
        assert anew.session_policy(session).policy is None
        second.sessions.close()
