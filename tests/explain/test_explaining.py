"""Planted truths: a provider whose answer depends on known items. What it depends on is found, and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.explain.asking import ATTEMPTS
from workbench.explain.explaining import ExplainJob, explain_request, prepare_explanation
from workbench.explain.kept_answers import KeptAnswers, recorded_digest
from workbench.explain.saving import masking_saving
from workbench.explain.values import ExplainWish, Explanation
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.services import Services

RESULTS = 30
Decide = Callable[[str], ReplayAnswer]
SAME = ReplayAnswer("m", calls=(("edit", '{"path": "a.py", "line": 3}'),), cost=0.001, status=200)
OTHER = ReplayAnswer("m", "I do not know.", cost=0.001, status=200)
AGAIN = ReplayAnswer("m", calls=(("read", '{"path":"7.py"}'),), cost=0.001, status=200)


def recording(folder: Path, results: int = RESULTS, size: int = 50, reported: int = 9) -> Path:
    """A file with one request: a question, many files that were read, and the answer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "opening"}]
    for number in range(results):
        function = {"name": "read", "arguments": json.dumps({"path": f"{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"<fact{number}> " + "word " * size})
    messages.append({"role": "user", "content": "go on"})
    edit = {"name": "edit", "arguments": '{"line": 3, "path": "a.py"}'}
    said = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function", "function": edit}]}
    usage = {"prompt_tokens": reported, "completion_tokens": 9}
    answer = {"model": "gpt-4o", "choices": [{"message": said}], "usage": usage}
    path = folder / "requests.jsonl"
    path.write_text(
        json.dumps({"request": {"model": "gpt-4o", "messages": messages, "max_tokens": 20}, "response": answer}),
        "utf-8",
    )
    return path


class Provider:
    """Answers by what is in the request, and counts."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.bodies: list[dict[str, Any]] = []

    async def send(self, body: dict[str, Any]) -> ReplayAnswer:
        self.bodies.append(body)
        return self.decide(json.dumps(body))


def holds(needed: Callable[[Callable[[int], bool]], bool], other: ReplayAnswer = OTHER) -> Decide:
    """The same answer while the facts that are needed are in the request."""
    return lambda text: SAME if needed(lambda number: f"<fact{number}>" in text) else other


def prepared(services: Services, folder: Path, wish: ExplainWish, results: int = RESULTS) -> ExplainJob:
    return prepare_explanation(services, Options(), services.source(str(recording(folder, results))), wish)


async def explained(
    services: Services, folder: Path, decide: Decide, wish: ExplainWish | None = None
) -> tuple[Explanation, Provider]:
    provider = Provider(decide)
    job = prepared(services, folder, wish or ExplainWish())
    with KeptAnswers() as kept:
        return await explain_request(job, provider.send, kept, first_wait=0), provider


def verdicts(found: Explanation, verdict: str) -> list[str]:
    return [each.unit.title for each in found.effects if each.verdict == verdict]


PLANTED = {
    "one": (lambda has: has(7), ["Read 7.py"], []),
    "two together": (lambda has: has(7) and has(21), ["Read 7.py", "Read 21.py"], []),
    "either of two": (lambda has: has(7) or has(21), [], ["Read 7.py", "Read 21.py"]),
    "one, and either of two": (lambda has: has(3) and (has(7) or has(21)), ["Read 3.py"], ["Read 7.py", "Read 21.py"]),
    "none": (lambda has: True, [], []),
}


@pytest.mark.parametrize("method", ["halving", "subsets"])
@pytest.mark.parametrize("truth", PLANTED)
async def test_what_was_planted_is_found_with_few_requests(
    truth: str, method: Any, services: Services, tmp_path: Path
) -> None:
    needed, alone, several = PLANTED[truth]
    began = time.monotonic()
    found, provider = await explained(services, tmp_path, holds(needed), ExplainWish(method=method))
    assert (found.complete, found.ended) == (True, "")
    assert verdicts(found, "needed") == alone
    assert verdicts(found, "one of several") == several
    assert len(verdicts(found, "no effect")) == RESULTS + 1 - len(alone) - len(several)
    assert found.sent == len(provider.bodies)
    if method == "halving":
        assert found.sent < (3 + len(found.effects))  # leaving out one at a time, which misses either of two
    assert [each for each in found.effects if each.drop is not None] == [], "no answer said how likely it is"
    assert found.is_recorded
    assert 0 < found.seconds <= time.monotonic() - began
    assert found.cost == pytest.approx(found.sent * 0.001)


async def test_an_effect_has_its_interval_and_its_count(services: Services, tmp_path: Path) -> None:
    found, _ = await explained(services, tmp_path, holds(lambda has: has(7), AGAIN))
    [needed] = found.by_importance
    assert needed.effect is not None
    assert (needed.effect.value, needed.effect.without.changed, needed.effect.without.tries) == (1.0, 3, 3)
    assert 0 < needed.effect.low < needed.effect.high == 1.0
    assert (needed.asked_again, needed.times, needed.instead) == (True, 3, "→ Read 7.py")
    assert found.dead_tokens > 29 * 25  # calibrated by the small report
    for each in found.dead_weight:
        assert each.effect is not None
        assert (each.effect.value, each.effect.without.tries) == (0.0, 3)
        assert each.effect.low < 0 < each.effect.high


async def test_what_was_answered_is_not_asked_again(services: Services, tmp_path: Path) -> None:
    decide = holds(lambda has: has(7))
    first, _ = await explained(services, tmp_path, decide, ExplainWish(most=6))
    assert "the limit of 6 requests" in first.ended
    assert (first.sent, first.complete) == (6, False)
    assert {each.verdict for each in first.effects} <= {"needed", "no effect alone", "not tested"}
    second, provider = await explained(services, tmp_path, decide)
    assert (second.complete, second.kept, len(provider.bodies)) == (True, 6, second.sent)
    third, provider = await explained(services, tmp_path, decide)
    assert (third.sent, provider.bodies, third.cost) == (0, [], 0.0)
    assert third.effects == second.effects
    fresh, _ = await explained(services, tmp_path, decide, ExplainWish(fresh=True))
    assert fresh.sent == second.sent + 6


async def test_it_stops_before_the_budget_is_exceeded(services: Services, tmp_path: Path) -> None:
    found, provider = await explained(services, tmp_path, holds(lambda has: has(7)), ExplainWish(budget=0.0125))
    assert "could exceed the budget of $0.01" in found.ended
    assert found.cost is not None
    assert 0.011 < found.cost <= 0.0125
    assert provider.bodies


async def test_no_answer_however_long_exceeds_the_budget(services: Services, tmp_path: Path) -> None:
    job = prepared(services, tmp_path, ExplainWish(budget=0.0125))
    assert job.job.highest is not None
    longest = OTHER._replace(cost=job.job.highest)
    lengths = iter([SAME] * 3)
    with KeptAnswers() as kept:
        found = await explain_request(job, Provider(lambda _: next(lengths, longest)).send, kept, first_wait=0)
    assert "could exceed the budget" in found.ended
    assert found.cost is not None
    assert found.cost <= 0.0125
    assert found.sent > 3


@pytest.mark.parametrize("limit", [None, 5])
async def test_the_longest_answer_is_the_requests_own_limit_or_the_models(
    services: Services, tmp_path: Path, limit: int | None
) -> None:
    path = recording(tmp_path)
    line = json.loads(path.read_text("utf-8"))
    line["request"]["max_tokens"] = limit
    path.write_text(json.dumps(line), "utf-8")
    job = prepare_explanation(services, Options(), services.source(str(path)), ExplainWish())
    assert job.job.cost is not None
    assert job.job.highest is not None
    info = services.catalogue.find_model("gpt-4o")
    assert info.output_price is not None
    most = max(limit or info.max_output or 0, 9)  # the recorded answer has nine tokens
    assert job.job.highest == pytest.approx(job.job.cost + (most - 9) * info.output_price)


async def test_later_items_are_left_out_first(services: Services, tmp_path: Path) -> None:
    _, provider = await explained(services, tmp_path, holds(lambda has: has(3)))
    whole = provider.bodies[0]["messages"]
    halved = provider.bodies[4]["messages"]
    assert halved[: len(halved) - 1] == whole[: len(halved) - 1]


MASKING = ("masking.scope=session", "masking.keep_first=0", "masking.keep_last=1", "masking.min_tokens=0")


@pytest.mark.parametrize(
    ("options", "same"),
    [(Options(), True), (Options(model="gpt-4o-mini"), True), (Options(policy="layers", knobs=MASKING), False)],
    ids=["as it was", "another model", "other contents"],
)
def test_what_is_found_is_kept_for_the_recorded_request_if_its_contents_are_sent(
    options: Options, same: bool, services: Services, tmp_path: Path
) -> None:
    source = services.source(str(recording(tmp_path)))
    job = prepare_explanation(services, options, source, ExplainWish())
    recorded = json.loads((tmp_path / "requests.jsonl").read_text("utf-8"))["request"]
    assert job.recorded == (recorded_digest(job.job.dialect, recorded) if same else b"")


async def test_results_without_effect_are_masked_and_their_calls_are_not(services: Services, tmp_path: Path) -> None:
    source = services.source(str(recording(tmp_path, 4, 200, 900)))
    job = prepare_explanation(services, Options(), source, ExplainWish())
    with KeptAnswers() as kept:
        found = await explain_request(job, Provider(holds(lambda has: has(2))).send, kept, first_wait=0)
    saving = masking_saving(services, Options(), source, job, found)
    assert saving is not None
    assert (saving.events, saving.requests, saving.missed) == (3, 1, 0)
    assert 3 * 100 < saving.tokens < 3 * 210


# Hostile


async def test_a_provider_that_fails_half_the_time_changes_nothing(services: Services, tmp_path: Path) -> None:
    decide = holds(lambda has: has(7))
    calls = iter(range(10_000))
    failure = OTHER._replace(problem="HTTP 503: overloaded", status=503, cost=None)
    found, _ = await explained(services, tmp_path, lambda text: failure if next(calls) % 2 == 0 else decide(text))
    assert verdicts(found, "needed") == ["Read 7.py"]
    assert found.complete
    assert found.failed == found.sent // 2


@pytest.mark.parametrize("status", [0, 200, 429, 500])
async def test_a_provider_that_stops_answering_ends_it_and_nothing_is_lost(
    status: int, services: Services, tmp_path: Path
) -> None:
    decide = holds(lambda has: has(7))
    calls = iter(range(10_000))
    failure = OTHER._replace(problem="no", status=status, cost=None)
    found, _ = await explained(services, tmp_path, lambda text: decide(text) if next(calls) < 8 else failure)
    assert found.ended == f"{ATTEMPTS} tries of a request failed; the last one: no"
    assert (found.complete, found.sent, found.failed) == (False, 8 + ATTEMPTS, ATTEMPTS)
    for each in found.effects:
        assert each.effect is None or each.effect.without.tries > 0
    again, _ = await explained(services, tmp_path, decide)
    assert (again.complete, again.kept) == (True, 8)


async def test_a_wrong_key_ends_it_at_once(services: Services, tmp_path: Path) -> None:
    failure = OTHER._replace(problem="HTTP 401: bad key", status=401)
    found, provider = await explained(services, tmp_path, lambda text: failure)
    assert found.ended == "the provider does not answer: HTTP 401: bad key"
    assert len(provider.bodies) == 1
    assert (found.reference, found.unchanged.tries) == (None, 0)


async def test_nonsense_is_called_noise(services: Services, tmp_path: Path) -> None:
    calls = iter(range(10_000))
    found, provider = await explained(
        services, tmp_path, lambda text: OTHER._replace(text=f"{next(calls)} " * 5, calls=())
    )
    assert "the answer varies by itself" in found.ended
    assert len(provider.bodies) == 5
    assert {each.verdict for each in found.effects} == {"not tested"}


async def test_a_little_noise_does_not_change_what_is_found(services: Services, tmp_path: Path) -> None:
    decide = holds(lambda has: has(7))
    calls = iter(range(10_000))
    found, _ = await explained(services, tmp_path, lambda text: OTHER if next(calls) % 9 == 1 else decide(text))
    assert verdicts(found, "needed") == ["Read 7.py"]
    assert found.unchanged.changed == 1
    assert found.complete


async def test_what_the_provider_refuses_to_do_without_is_needed(services: Services, tmp_path: Path) -> None:
    refusal = OTHER._replace(problem="HTTP 400: no", status=400, cost=None)
    found, _ = await explained(services, tmp_path, holds(lambda has: has(7), refusal))
    [needed] = found.by_importance
    assert (needed.unit.title, needed.instead, needed.times) == ("Read 7.py", "HTTP 400: no", 3)


async def test_a_result_that_turns_the_action_alone_is_named_first(services: Services, tmp_path: Path) -> None:
    def decide(text: str) -> ReplayAnswer:
        return SAME if "<fact25>" in text and "opening" in text else OTHER

    found, _ = await explained(services, tmp_path, decide)
    assert [each.unit.title for each in found.by_importance] == ["Read 25.py", "opening"]


@pytest.mark.parametrize(
    ("wish", "expected"), [(ExplainWish(tries=3), (6, 36)), (ExplainWish(tries=1, most=9), (2, 9))]
)
def test_about_how_many_requests_it_takes_is_known_before(
    wish: ExplainWish, expected: tuple[int, int], services: Services, tmp_path: Path
) -> None:
    """Of 31 units a half is left out five times."""
    assert prepared(services, tmp_path, wish).expected == expected
