"""A log from elsewhere says how it is planned, and reaches nothing beyond itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.paths import config_dir
from workbench.context.knobs import KNOBS, as_toml
from workbench.log.codec import encode_event
from workbench.log.events import CONTINUED_FROM, Body, Compaction, Event, Failure, Setting, UserMessage
from workbench.sources.foreign import NOT_APPLIED, harmless_body, harmless_lines, harmless_log
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import knobs_of, number_events, read_source

PLACES = ("file:/etc/passwd", "file:~/.ssh/id_rsa", "/etc/passwd", "~/x", "http://evil/", "local:/x.gguf", "../x.toml")


def no_store() -> None:
    raise AssertionError("a file needs no store")


@given(st.sampled_from(PLACES), st.sampled_from(["{}", '"{}"', " {} ", "'{}'"]), st.sampled_from(["", " "]))
def test_no_knob_of_a_file_names_a_place(place: str, form: str, blank: str) -> None:
    for name in ("compaction.prompt", "compaction.model", "instructions.root_markers"):
        value = f'["{place}"]' if name.endswith("markers") else form.format(place)
        knob = f"{name}{blank}={blank}{value}"
        if (name, place[:5]) == ("compaction.model", "file:"):
            continue  # the name of a model, which nobody knows
        refused: list[str] = []
        assert harmless_body(Setting("knobs", ["masking.keep_last=3", knob]), refused) == Setting(
            "knobs", ["masking.keep_last=3"]
        )
        assert refused == [knob]


def test_every_other_knob_is_applied() -> None:
    known = {name: knob for name, knob in KNOBS.items() if knob.default is not None and knob.kind != "list"}
    setting = Setting("knobs", [f"{name}={as_toml(knob.default)}" for name, knob in known.items()])
    assert harmless_body(setting, []) is setting


@pytest.mark.parametrize(
    ("key", "fine", "reaching"),
    [
        (
            "model",
            ["gpt-4o", "ollama/llama3.2:1b", "<synthetic>", ""],
            ["local:/etc/x", "x/http://evil", "/x", "~/x"],
        ),
        ("policy", ["codex", "mine", ""], ["/etc/x.toml", "../x", "~/x.toml", "elsewhere"]),
        (CONTINUED_FROM, [""], ["1m7g4k4zpc13v", "another session's title"]),
        ("title", ["anything /etc/passwd"], []),
    ],
)
def test_settings_that_reach_beyond_the_log_are_told_and_not_applied(
    key: str, fine: list[str], reaching: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config_dir() / "policies").mkdir(parents=True)
    (config_dir() / "policies" / "mine.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").write_text("")
    for value in fine:
        assert harmless_body(Setting(key, value), []) == Setting(key, value)
    for value in reaching:
        refused: list[str] = []
        assert harmless_body(Setting(key, value), refused) == Setting(key, "")
        assert refused == [f"{key}={value}"]


def a_log() -> list[Event]:
    bodies: list[Body] = [
        UserMessage("hello"),
        Setting("knobs", ["compaction.prompt=file:/etc/passwd", "masking.keep_last=3"]),
        Setting("policy", "/tmp/evil.toml"),
        Compaction(1, 1, "summary", meta={CONTINUED_FROM: "other", "why": "x"}),
    ]
    return number_events(bodies)


def test_a_file_is_read_with_what_is_harmless_and_says_what_was_not(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{encode_event(event)}\n" for event in a_log()))
    source = read_source(str(path), no_store)  # type: ignore[arg-type]
    assert (source.policy, source.knobs) == ("", ("masking.keep_last=3",))
    assert [event.seq for event in source.events] == [1, 2, 3, 4, 5]
    assert source.events[-1].body == Failure(
        NOT_APPLIED,
        "not taken over from the file, because it reaches beyond it or cannot be set: "
        "compaction.prompt=file:/etc/passwd, policy=/tmp/evil.toml",
    )
    assert source.events[3].body == Compaction(1, 1, "summary", meta={"why": "x"})
    with Services() as services:
        assert services.set_up(Options(), source).loaded.policy.compaction.prompt == "workbench"


def test_lines_that_are_harmless_stay_as_they_are() -> None:
    plain = [
        encode_event(event) for event in number_events([UserMessage("x"), Setting("knobs", ["masking.keep_last=3"])])
    ]
    refused: list[str] = []
    assert [*harmless_lines([*plain, "no event", ""], refused)] == [*plain, "no event", ""]
    assert refused == []
    told = [*harmless_lines(map(encode_event, a_log()), refused)]
    assert json.loads(told[1])["value"] == ["masking.keep_last=3"]
    assert len(refused) == 2


def test_a_log_without_such_settings_is_the_same() -> None:
    events = number_events([UserMessage("x"), Setting("model", "gpt-4o")])
    assert harmless_log(events) == events
    assert knobs_of(harmless_log(a_log())) == ("masking.keep_last=3",)


def test_what_cannot_be_set_is_not_applied_either() -> None:
    refused: list[str] = []
    knobs = ["masking.keep_last=3", "compaction={prompt='file:/etc/passwd'}", "masking.keep_last=many", "no.such=1"]
    assert harmless_body(Setting("knobs", knobs), refused) == Setting("knobs", knobs[:1])
    assert refused == knobs[1:]
