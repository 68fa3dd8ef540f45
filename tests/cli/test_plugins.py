"""`workbench plugins`, and the template in `examples/plugin`, installed as a user installs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxy.conftest import Recording
from support.calls import Call
from support.installed import install, installed
from support.talk import planned
from workbench.context.policy import Policy, StagesPolicy
from workbench.context.stages.plugin import STAGES
from workbench.live.known_agents import start_of
from workbench.log.events import ToolResult, UserMessage
from workbench.log.store import Store
from workbench.proxy.launch import launch_for, silence_message
from workbench.proxy.routes import Upstreams, route_of
from workbench.tui.themes import load_themes

ROOT = Path(__file__).parents[2]
TALK = """ACME TALK 1
user: what does the log say?
call read_log: {"lines": 9}
result read_log: start
busy
busy
busy
busy
busy
busy
busy
busy
busy
busy
end
assistant: It was busy.
user: and now?
"""
NAMES = {
    ("formats", "Acme"),
    ("policies", "acme"),
    ("stages", "acme-repeats"),
    ("dialects", "acme"),
    ("agents", "Acme"),
    ("tools", "save_note"),
    ("themes", "acme-dusk"),
    ("hooks", "after_tool.acme"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the template was installed."""
    source, site = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "examples" / "plugin", source)
    uv = shutil.which("uv")
    assert uv is not None, "uv runs the tests"
    command = [uv, "pip", "install", "-q", "--no-deps", "--python", sys.executable, "--target", str(site), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True, cwd=source)
    return site


@pytest.fixture
def acme(template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The template is installed."""
    monkeypatch.syspath_prepend(str(template))
    return template


@pytest.fixture
def talk_file(tmp_path: Path) -> Path:
    path = tmp_path / "a.talk"
    path.write_text(TALK)
    return path


def test_all_parts_of_the_template_are_listed_with_their_package(acme: Path, call: Call) -> None:
    found = call("plugins", "--json").json["plugins"]
    assert {(each["group"], each["name"]) for each in found} == NAMES
    assert {(each["package"], each["version"], each["loaded"], each["problem"]) for each in found} == {
        ("workbench-acme", "0.1.0", True, None)
    }
    shown = call("plugins")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("workbench-acme") == len(NAMES)


def test_its_format_opens_a_file_and_its_stage_shows_its_edit_with_the_reason(
    acme: Path, call: Call, talk_file: Path
) -> None:
    made = call("plan", str(talk_file), "--policy", "acme", "--json").json
    [result] = [item for item in made["items"] if item["kind"] == "tool_result"]
    assert result["text"] == "start\nbusy\n[the line above 9 more times]\nend"
    [edit] = result["edits"]
    assert (edit["stage"], edit["state"]) == ("acme-repeats", "masked")
    assert edit["why"].startswith("9 repeated lines left out; ")
    assert made["warnings"] == []
    assert [item["role"] for item in made["items"] if item["kind"] == "message"] == ["user", "assistant", "user"]


def test_its_policy_plans_and_is_listed(acme: Path, call: Call, talk_file: Path) -> None:
    listed = {each["name"]: each["from"] for each in call("policies", "--json").json["policies"]}
    assert listed["acme"] == "plug-in workbench-acme"
    knobs = {row["knob"]: row for row in call("policies", "show", "acme", "--json").json["knobs"]}
    assert knobs["masking.keep_last"] == {"knob": "masking.keep_last", "value": 8, "from": "plug-in policy acme"}
    assert knobs["compaction.threshold"]["from"] == "preset workbench"
    own = talk_file.with_name("mine.toml")
    own.write_text('extends = "acme"\n[masking]\nkeep_last = 9\n')
    shown = call("policies", "show", str(own), "--json").json["knobs"]
    assert {row["knob"]: row["value"] for row in shown}["stages.use"] == ["acme-repeats"]


@pytest.mark.xdist_group("litellm")
def test_its_tool_runs_only_if_it_is_allowed(acme: Path, call: Call, project: Path) -> None:
    refused = call("ask", 'call save_note {"text": "buy milk"}', "--model", "rehearsal")
    assert not (project / "notes.txt").exists()
    assert "--allow" in refused.out + refused.err
    call("ask", 'call save_note {"text": "buy milk"}', "--model", "rehearsal", "--allow", "save_note")
    assert (project / "notes.txt").read_text() == "buy milk\n"
    assert call("ask", "hello", "--model", "rehearsal", "--without", "save_note").code == 0


def test_its_theme_is_listed(acme: Path) -> None:
    found = {theme.name: theme for theme in load_themes(plugins=True).themes}
    assert found["acme-dusk"].background == "#1d1712"
    assert "acme-dusk" not in {theme.name for theme in load_themes().themes}


def test_its_agent_is_found_and_led_through_the_proxy(
    acme: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "elsewhere"
    (home / "talks").mkdir(parents=True)
    (home / "talks" / "first.talk").write_text(TALK)
    monkeypatch.setenv("ACME_HOME", str(home))
    [session] = call("agents", "--json").json["sessions"]
    assert (session["agent"], session["id"]) == ("Acme", "first")
    assert "what does the log say?" in call("plan", session["source"]).out
    made = launch_for(["/opt/acme", "fix it"], "http://p", tmp_path)
    assert (made.agent, made.command) == ("Acme", ("/opt/acme", "--base-url", "http://p/acme/talk", "fix it"))
    assert made.environment["ACME_BASE_URL"] == "http://p"
    assert "its own settings" in silence_message("Acme")


def test_its_dialect_has_a_route(acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    route = route_of("/v1/acme/talk", {})
    assert (route.provider, route.dialect) == ("acme", "acme")
    assert str(Upstreams().address("acme", "/acme/talk")) == "https://llm.acme.example/api/acme/talk"
    monkeypatch.setenv("ACME_BASE_URL", "http://127.0.0.1:9/x")
    assert str(Upstreams().address("acme", "/acme/talk")) == "http://127.0.0.1:9/x/acme/talk"


def test_what_passed_the_proxy_in_its_dialect_is_a_session_and_says_what_is_missing_without_the_package(
    template: Path, call: Call
) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "what is up?"}]}
    answer = {"choices": [{"message": {"role": "assistant", "content": "much"}}], "usage": {"prompt_tokens": 11}}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(template))
        with Store.open() as store:
            made = Recording(store)
            made.pass_through("/v1/acme/talk", body, answer)
            made.sessions.close()
            [request] = made.requests()
            session = store.list()[0].id
        assert request.dialect == "acme"
        [row] = call("requests", session, "--json").json["requests"]
        assert row["reported"] == 11
        planned_again = call("plan", session, "--nth", "1", "--json").json
        assert [item["text"] for item in planned_again["items"] if item["kind"] == "message"] == ["what is up?"]
    gone = call("plan", session, "--nth", "1")
    assert gone.code == 2
    assert gone.err.startswith("workbench: the dialect acme: no installed package has it")
    assert len(gone.err.splitlines()) == 1


def test_the_examples_of_the_page_work() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text()
    made: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(block, "plugins.md", "exec"), made)
    [recording] = made["FORMAT"].read("a.talk", "ACME TALK 1")
    assert made["FORMAT"].recognises("ACME TALK 1")
    log = [*recording, UserMessage("go")]
    log[2] = ToolResult("call-1", "milk " * 2_000, "list")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(STAGES, "find_named", lambda name: made[name])
        plan = planned(log, Policy(stages=StagesPolicy(("short_results",))))
    assert plan.warnings == ()
    assert [row.edits[0].why.partition(";")[0] for row in plan.items if row.edits] == ["only the beginning is needed"]


# What goes wrong


BROKEN = {
    "formats": {"gone": "no_such_module:FORMAT", "three": "support.plugin_parts:WRONG_TYPE"},
    "policies": {"layers": "support.plugin_parts:WRONG_TYPE", "odd": "support.plugin_parts:ODD_POLICY"},
    "stages": {"mask": "support.plugin_parts:tidy_stage"},
    "dialects": {"chat": "support.plugin_parts:WRONG_TYPE", "half": "support.plugin_parts:HalfDialect"},
    "agents": {"nobody": "support.plugin_parts:no_such_name"},
    "tools": {"read_file": "support.plugin_parts:READ_FILE"},
    "themes": {"pale": "support.plugin_parts:PALE_THEME"},
    "hooks": {"whenever": "support.plugin_parts:fail", "before_tool": "support.plugin_parts:WRONG_TYPE"},
}


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path / "site", BROKEN, "broken"):
        yield


def test_a_broken_plug_in_is_named_with_what_was_expected(broken: None, call: Call) -> None:
    outcome = call("plugins", "--json")
    assert outcome.code == 0
    said = {(each["group"], each["name"]): each for each in outcome.json["plugins"]}
    assert len(said) == sum(map(len, BROKEN.values()))
    assert not any(each["loaded"] for each in said.values())
    expected = {
        ("formats", "gone"): "No module named 'no_such_module'",
        ("formats", "three"): "expected a Format",
        ("policies", "layers"): "own policies has this name",
        ("policies", "odd"): "masking.keep_lost: no such knob",
        ("stages", "mask"): "own stages has this name",
        ("dialects", "chat"): "expected a Dialect",
        ("dialects", "half"): "abstract",
        ("agents", "nobody"): "no_such_name",
        ("tools", "read_file"): "own tools has this name",
        ("themes", "pale"): "background: expected a colour",
        ("hooks", "whenever"): "no such point",
        ("hooks", "before_tool"): "expected a function",
    }
    assert {key for key, words in expected.items() if words not in said[key]["problem"]} == set()


def test_a_command_names_it_in_one_line_and_works(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"role": "user", "content": "hello"}]))
    with installed(tmp_path / "site", BROKEN, "torn"):
        outcome = call("plan", str(file), "--json")
        assert (outcome.code, outcome.json["items"][-1]["text"]) == (0, "hello")
        assert all(line.startswith("· plug-in ") for line in outcome.err.splitlines())
        [gone, three] = [line for line in outcome.err.splitlines() if "(workbench.formats)" in line]
        assert gone.startswith("· plug-in gone of torn 1.2 (workbench.formats): ModuleNotFoundError: No module named")
        assert three.startswith("· plug-in three of torn 1.2 (workbench.formats): TypeError: expected a Format")
        assert call("plan", str(file)).err == "", "it is said once"


def test_nothing_is_loaded_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, project: Path
) -> None:
    install(project, {"stages": {"theirs": "support.plugin_parts:tidy_stage"}}, "theirs")
    for place in ("", ".", str(project), str(tmp_path / "project" / ".." / "project")):
        monkeypatch.syspath_prepend(place)
        assert call("plugins", "--json").json["plugins"] == []
    monkeypatch.chdir(tmp_path)
    assert [each["name"] for each in call("plugins", "--json").json["plugins"]] == ["theirs"]


def test_a_plug_in_that_raises_in_use_is_noted_and_the_rest_goes_on(
    tmp_path: Path, call: Call, talk_file: Path
) -> None:
    entries = {
        "formats": {"loud": "support.plugin_parts:LOUD_FORMAT", "odd": "support.plugin_parts:ODD_FORMAT"},
        "agents": {"loud": "support.plugin_parts:LOUD_AGENT"},
    }
    with installed(tmp_path / "site", entries, "loud"):
        outcome = call("plan", str(talk_file))
        assert outcome.code == 2
        assert "expected JSON" in outcome.err
        named = "· plug-in loud of loud 1.2 (workbench.formats): raised RuntimeError: a mistake of the plug-in"
        assert outcome.err.splitlines().count(named) == 1
        talk_file.write_text("ODD TALK\n")
        outcome = call("plan", str(talk_file))
        assert "Odd, but its plug-in cannot read it" in outcome.err
        assert start_of("Loud", "http://p", tmp_path).arguments == ()
