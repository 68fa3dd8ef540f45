"""Probes that rules make of a conversation, and which of them are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from support.judged import COMMANDS, DECISIONS, ERROR, RECALL, STEPS, judged_work, usual_work
from support.logs import logs
from workbench.judge.choosing import choose_probes, evenly_spread, quotas
from workbench.judge.rule_probes import BLANK, FAILED_COMMANDS, OPEN_TASKS, halves, probes_by_rule
from workbench.judge.values import KINDS, Probe


@cache
def probes() -> Sequence[Probe]:
    return probes_by_rule(usual_work().items)


def by_question() -> dict[str, Probe]:
    return {probe.question: probe for probe in probes()}


def test_all_four_kinds_are_found() -> None:
    assert Counter(probe.kind for probe in probes()).keys() == set(KINDS)


def test_a_fact_is_asked_for_with_a_blank_in_its_sentence() -> None:
    probe = next(probe for probe in probes() if probe.expected == ("48",) and probe.kind == "recall")
    assert RECALL[0].replace("48", BLANK) in probe.question
    assert "48" not in probe.question


def test_files_commands_and_errors_are_asked_for() -> None:
    asked = {probe.question: probe.expected for probe in probes() if probe.kind == "artefact"}
    assert asked["Which files in the folder `src/pool` were changed? Name all of them."] == ("worker.py", "limits.py")
    statuses = {question: expected for question, expected in asked.items() if "exit status" in question}
    assert {question.partition("`")[2][:-1]: expected[0] for question, expected in statuses.items()} == COMMANDS
    assert next(expected for question, expected in asked.items() if "error" in question) == (f"E {ERROR}",)


def test_a_decision_is_given_with_its_first_part_and_asked_for_its_reason() -> None:
    probe = next(probe for probe in probes() if probe.kind == "decision" and "SQLite" in probe.question)
    assert probe.expected == ("because the deployment has no Redis server.",)
    assert probe.expected[0] in DECISIONS[0]


def test_the_open_tasks_and_what_failed_are_what_comes_next() -> None:
    assert by_question()[OPEN_TASKS].expected == STEPS
    assert by_question()[FAILED_COMMANDS].expected == ("pytest -q tests/pool",)


def test_every_probe_names_events_of_the_conversation_and_every_id_is_its_own() -> None:
    known = {item.id for item in usual_work().items}
    assert all(probe.events and set(probe.events) <= known for probe in probes())
    assert len({probe.id for probe in probes()}) == len(probes())


def test_guessing_that_every_command_passed_is_not_worth_it() -> None:
    statuses = [probe.expected[0] for probe in probes() if "exit status" in probe.question]
    assert statuses.count("0") <= max(2, len(statuses) - statuses.count("0"))


@given(logs())
def test_any_conversation_gives_the_same_probes_each_time(log: list[object]) -> None:
    items = judged_work(event.body for event in log).items  # type: ignore[attr-defined]
    assert probes_by_rule(items) == probes_by_rule(items)


@given(st.text(max_size=300))
def test_both_parts_of_a_sentence_say_something(sentence: str) -> None:
    parts = halves(sentence)
    assert parts is None or all(part.strip() for part in parts)


def test_a_sentence_is_halved_only_if_both_parts_have_words_enough() -> None:
    assert halves("The worker keeps every connection because restarts lose them") is not None
    assert halves("It is as we do it in our big old bakery deployments") is None
    assert halves("The worker keeps every connection because it is so") is None


counts = st.integers(0, 30)


@given(st.fixed_dictionaries(dict.fromkeys(KINDS, counts)), counts)
def test_quotas_use_all_there_is_and_favour_no_kind(available: dict[str, int], wanted: int) -> None:
    given_ = quotas(available, wanted)  # type: ignore[arg-type]
    assert sum(given_.values()) == min(wanted, sum(available.values()))
    for kind in KINDS:
        assert given_[kind] <= available[kind]
        assert given_[kind] == available[kind] or given_[kind] >= max(given_.values()) - 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_probes_are_spread_and_none_is_asked_twice(there: int, wanted: int) -> None:
    probes = [Probe("recall", str(at), ("x",), "value", ("e1",)) for at in range(there)]
    chosen = evenly_spread(probes, wanted)
    assert len(chosen) == len({probe.question for probe in chosen}) == min(there, wanted)
    assert chosen == sorted(chosen, key=lambda probe: int(probe.question))


def test_what_every_context_still_has_is_not_asked() -> None:
    gone = {usual_work().items[0].id}
    asked = choose_probes(probes(), 50, gone)
    assert asked
    assert all(set(probe.events) & gone for probe in asked)
    assert choose_probes(probes(), 50, ()) == []
