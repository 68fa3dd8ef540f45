"""The user's `config.toml`: missing is fine, broken is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.config.errors import WrongCall
from workbench.config.settings import ADK_NAMES, KNOB_TABLES, Settings, load_settings
from workbench.config.tables import read_toml, shown_value
from workbench.config.values import replace
from workbench.context.knobs import KNOBS, SECTIONS
from workbench.context.load import load_policy


def configured(folder: Path, text: str) -> Path:
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(WrongCall) as caught:
        load_settings(folder)
    text = str(caught.value)
    assert "\n" not in text
    return text.removeprefix(str(folder / "config.toml"))


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == load_settings(tmp_path / "no-such-folder") == Settings()
    assert Settings().model_knobs("any") == {}


def test_an_empty_file_is_no_mistake(tmp_path: Path) -> None:
    assert load_settings(configured(tmp_path, "")) == Settings(file=tmp_path / "config.toml")


def test_settings_are_read_as_written(tmp_path: Path) -> None:
    text = """
    model = "gpt-4o"
    policy = "layers"
    theme = "dark"
    [models."gpt-4o"]
    window = 100_000
    aliases = ["a", "b"]
    [models."gpt-4o".knobs]
    masking.keep_last = 3
    "masking.keep_first" = 4
    """
    settings = load_settings(configured(tmp_path, text))
    assert (settings.model, settings.policy, settings.theme) == ("gpt-4o", "layers", "dark")
    assert settings.models["gpt-4o"]["window"] == 100_000
    assert settings.models["gpt-4o"]["aliases"] == ("a", "b")
    assert settings.model_knobs("gpt-4o") == {"masking": {"keep_last": 3}, "masking.keep_first": 4}
    assert settings.model_knobs("another") == {}
    assert settings.model_origin("gpt-4o") == f'{tmp_path / "config.toml"} [models."gpt-4o".knobs]'


def test_a_models_own_fallbacks_win_also_when_there_are_none(tmp_path: Path) -> None:
    text = (
        'fallback = ["a", "b"]\n[models.m]\nfallback = ["c"]\n[models.alone]\nfallback = []\n[models.other]\nwindow = 1'
    )
    settings = load_settings(configured(tmp_path, text))
    assert [settings.fallbacks(model) for model in ("any", "m", "alone", "other")] == [
        *(("a", "b"), ("c",), (), ("a", "b")),
    ]
    assert Settings().fallbacks("any") == ()


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load_settings(configured(tmp_path, "[models.m.knobs]\nmasking.keep_last = 3"))
    with pytest.raises(TypeError):
        settings.models["m"] = {}  # type: ignore[index]  # the refusal is the point
    with pytest.raises(TypeError):
        settings.models["m"]["knobs"]["masking"]["keep_last"] = 4


def test_a_policys_path_is_meant_from_the_config_folder(tmp_path: Path) -> None:
    settings = load_settings(configured(tmp_path, 'policy = "mine/strict.toml"'))
    assert settings.policy == str(tmp_path / "mine" / "strict.toml")
    elsewhere = tmp_path / "elsewhere.toml"
    assert load_settings(configured(tmp_path, f"policy = '{elsewhere}'")).policy == str(elsewhere)


def test_the_folder_is_asked_for_when_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", str(configured(tmp_path, 'model = "m"')))
    assert load_settings().model == "m"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert load_settings(configured(tmp_path, '\ufeffmodel = "m"')).model == "m"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modell = "x"', ": modell: no such key; expected one of model, policy, theme"),
        ("zzz = 1", ": zzz: no such key; expected one of model, policy, theme, layout, notify"),
        ('notify = ["drum"]', ': notify: expected a list of "bell" and "desktop"'),
        ('notify = "bell"', ': notify: expected a list of "bell" and "desktop"'),
        ("model = 3", ": model: expected text, got 3"),
        ("model = 0x" + "f" * 5000, ": model: expected text, got a number with thousands of digits"),
        ("models = 3", ": models: expected a table of models, got 3"),
        ("[models]\nm = 3", ': models."m": expected a table, got 3'),
        ("[models.m]\nknobs = 3", ': models."m".knobs: expected a table of knobs, got 3'),
        ('fallback = "m"', ": fallback: expected a list of models such as "),
        ('fallback = [""]', ": fallback: expected a list of models such as "),
        ("[models.m]\nfallback = [3]", ': models."m".fallback: expected a list of models such as '),
        ("requests = 3", ": requests: expected a table, got 3"),
        ("servers = []", ": servers: expected a table, got []"),
        ("tools = 1", ": tools: expected a table, got 1"),
        ('file = "x"', ": file: no such key"),
        ('model = "x"\ntheme = ', ", line 2: expected TOML: "),
        ('model = "x"\nmodel = "y"', ", line 2: expected TOML: "),
        ('model = "x', ", line 1: expected TOML: "),
    ],
)
def test_a_wrong_file_names_place_and_expectation(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(configured(tmp_path, text)).startswith(said)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.mkdir()
    assert refusal(tmp_path).startswith(": cannot be read: ")
    path.rmdir()
    path.symlink_to(tmp_path / "gone")
    assert refusal(tmp_path) == ": no such file"
    path.unlink()
    path.symlink_to(path)
    assert refusal(tmp_path).startswith(": cannot be read: ")
    path.unlink()
    path.write_bytes(b'# ok\nmodel = "\xff"\n')
    assert refusal(tmp_path) == ", line 2: expected UTF-8 text, got the byte 0xff"


@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_one_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    try:
        assert isinstance(read_toml(path), dict)
    except WrongCall as error:
        text = str(error)
    else:
        text = str(path)
    assert text.startswith(str(path))
    assert "\n" not in text


def test_a_shown_value_is_short() -> None:
    assert shown_value("x" * 1000) == "'" + "x" * 76 + "..."


# Knobs that stand in the wrong file

ADR = """
[compaction]
enabled = true
invocation_threshold = 5
overlap_size = 2
token_threshold = 700000
safety_ratio = 0.7
prompt_template = "file://~/.code_agent/compaction_prompt.txt"
"""


@requirement(
    "sliding",
    "configuration",
    "settings are in a `[compaction]` table of `config.toml`",
    decided="they are knobs of a policy; the error names each one's place",
)
def test_the_compaction_table_of_the_document_is_answered_with_what_to_write_instead(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(ADR)
    with pytest.raises(WrongCall) as caught:
        load_settings(tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'config.toml'}: compaction: knobs belong in a policy file; ")
    written = said.partition("next to this one: ")[2].partition("; and here: ")[0]
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.toml").write_text(written.replace("; ", "\n"))
    (tmp_path / "config.toml").write_text(said.rpartition("; and here: ")[2])
    policy = load_policy(load_settings(tmp_path).policy, env={}, folder=tmp_path).policy
    sliding = load_policy("sliding", env={}, folder=tmp_path).policy
    prompt = "file://~/.code_agent/compaction_prompt.txt"
    assert policy.compaction == replace(sliding.compaction, prompt=prompt)


def test_switched_off_and_under_another_policy(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('policy = "codex"\n[compaction]\nenabled = false\noverlap_size = 1\n')
    with pytest.raises(WrongCall, match=r'extends = "codex"; \[compaction\]; mode = "off"; overlap = 1; and here'):
        load_settings(tmp_path)


@pytest.mark.parametrize("section", KNOB_TABLES)
def test_every_section_of_a_policy_is_told_its_place(tmp_path: Path, section: str) -> None:
    (tmp_path / "config.toml").write_text(f"[{section}]\n")
    with pytest.raises(WrongCall, match=rf"this one: \[{section}\]; and here: policy = "):
        load_settings(tmp_path)


def test_the_sections_are_those_of_a_policy() -> None:
    assert tuple(SECTIONS) == KNOB_TABLES


@pytest.mark.parametrize(("theirs", "ours"), ADK_NAMES.items())
def test_a_knob_under_the_documents_name_is_told_ours(theirs: str, ours: str) -> None:
    with pytest.raises(WrongCall, match=rf"no such knob; here it is compaction\.{ours}$"):
        load_policy("sliding", sets=[f"compaction.{theirs}=1"], env={})
    assert f"compaction.{ours}" in KNOBS
