"""The README and the pages under `docs/` are complete and true."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support.reference import PLACES, bindings, blocks, made, manual
from support.requirements import documents_page, requirement, rows
from workbench.cli.main import main, make_parser
from workbench.config.distribution import DISTRIBUTION
from workbench.context.load import describe_policy, load_policy
from workbench.context.policy_names import DEFAULT, PRESETS, RECORDED
from workbench.rehearsal.faults import FAULTS
from workbench.traces.formats import NAMES
from workbench.tui.commands.registry import REGISTRY

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of a section's table that begin with something in code or a name."""
    section = text_of(page).split(f"## {heading}\n")[1].split("\n#")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip(" |") for cell in row] for row in rows[2:]]


# What is made from the code


@requirement("layers", "configuration", "the settings are documented")
@pytest.mark.parametrize("page", ["agents-decisions.md", "commands.md", "keys.md", "policies.md"])
def test_what_is_made_from_the_code_is_up_to_date(page: str) -> None:
    assert blocks(page) == made()[page], "run `uv run python tests/support/reference.py` and look at what changed"


def test_the_man_page_is_up_to_date() -> None:
    assert text_of("docs/workbench.1") == manual(), "run `uv run python tests/support/reference.py`"


def test_every_key_has_its_place_on_the_page() -> None:
    commands = {command.name for command in REGISTRY.commands}
    assert {str(each.id).partition(".")[0] for each in bindings() if each.id not in commands} == PLACES.keys()


# Policies


def test_every_preset_says_what_it_is_modelled_on() -> None:
    intro = text_of("docs/policies.md").partition("## A policy of your own")[0]
    modelled = intro.partition("| preset | modelled on |")[2]
    assert re.findall(r"^\| `(\w+)`", modelled, re.M) == [name for name in PRESETS if name not in (DEFAULT, RECORDED)]


@requirement(
    "layers",
    "configuration",
    "settings are in a `context` block of a YAML file under the documented names",
    decided="they are knobs of a TOML policy; the page on policies leads from each name to its knob",
)
@requirement(
    "window",
    "configuration",
    "limit, shares of system prompt and memory, room for the answer and threshold can each be set",
)
@requirement("codex", "configuration", "window, reserve, limits of output and threshold can each be set")
@pytest.mark.parametrize(
    "row", table("docs/policies.md", "The documents' names"), ids=lambda row: f"{row[0]}-{row[1][:30]}"
)
def test_the_documents_names_lead_to_knobs_with_the_documented_values(row: list[str]) -> None:
    preset, _, target, value = (*row, "")[:4]
    knob = re.search(r"`([a-z]+\.[a-z_]+)`", target)
    if knob is None or not value:
        pytest.skip("no knob stands behind this name")
    values = {each.name: each.written for each in describe_policy(load_policy(preset.strip("`"), env={}))}
    assert values[knob[1]] == value.strip("`")


# Configuration

CONFIG = text_of("docs/config.md").split("```toml\n# config.toml\n")[1].split("```")[0]


def accepted(capsys: pytest.CaptureFixture[str], folder: Path, lines: str) -> set[str]:
    """The keys that the program says it expects where it finds one that it does not know."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(lines)
    assert main(["ask", "hello"]) == 2
    return set(capsys.readouterr().err.rpartition("expected ")[2].strip().removeprefix("one of ").split(", "))


def test_the_example_of_a_config_has_every_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown: dict[str, Any] = tomllib.loads(CONFIG)
    folder = tmp_path / "config"
    assert shown.keys() == accepted(capsys, folder, "zzzzzz = 1")
    for name in ("requests", "servers", "tools"):
        assert shown[name].keys() == accepted(capsys, folder, f"[{name}]\nzzzzzz = 1")
    assert shown["hooks"].keys() == accepted(capsys, folder, "[hooks]\nzzzzzz = []")
    [model] = shown["models"].values()
    assert model.keys() == accepted(capsys, folder, "[models.a]\nzzzzzz = 1")
    servers = shown["mcp"].values()
    assert {key for server in servers for key in server} == accepted(capsys, folder, "[mcp.a]\nzzzzzz = 1")


# Transcripts


def test_every_fault_has_a_row_with_its_own_words() -> None:
    said = {row[0].strip("`"): row[1] for row in table("docs/rehearsing.md", "Faults")}
    assert said == FAULTS


def test_every_format_of_transcripts_has_a_row() -> None:
    listed = {row[0] for row in table("docs/transcripts.md", "Formats")}
    assert listed == {*NAMES, "OpenAI-style messages", "Workbench"}


def test_the_table_of_what_agents_decided_is_about_formats_that_are_read() -> None:
    agents = [name for row in table("docs/agents-decisions.md", "Everything else") for name in row[0].split(", ")]
    assert set(agents) - set(NAMES) == {"OpenClaw", "Kilo Code", "any", "through the proxy"}


# The documents behind the presets


def test_the_page_on_the_documents_is_what_the_tests_are_marked_with() -> None:
    found = rows()
    assert text_of("docs/documents.md") == documents_page(found), "run `uv run python tests/support/requirements.py`"
    assert len({(row.document, row.text) for row in found}) == len(found)


# The README, the changelog, and the links


def test_the_readme_is_short_and_has_the_two_commands_that_ci_runs() -> None:
    readme = text_of("README.md")
    assert len(readme.splitlines()) < 150
    assert "\n    pip install uv && uv run workbench " in readme
    assert "\n    pip install uv && uv run pytest " in readme
    assert re.search(r"^pip install -q uv$.*^uv run pytest \|\| code=", text_of(".ci/run"), re.M | re.S)


def test_the_newest_entry_of_the_changelog_is_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    newest = re.findall(r"^## \[(.*?)\] - \d{4}-\d\d-\d\d$", text_of("CHANGELOG.md"), re.M)[0]
    assert newest == tomllib.loads(text_of("pyproject.toml"))["project"]["version"] == version(DISTRIBUTION)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"workbench {newest}\n"


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page are linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_an_example_is_one_that_the_program_takes(page: Path) -> None:
    by_hand = re.sub(r"<!-- begin: .*?<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.S)
    for example in re.findall(r"^ {4}(?:\$ |uv run (?:--extra \w+ )?)?workbench ([a-z].*)$", by_hand, re.M):
        words = shlex.split(re.split(r" [|>] ", example)[0], comments=True)
        assert make_parser().parse_args(words).run, example
    for script in re.findall(r"^ {4}.*\bpython (tests/\S+\.py)", by_hand, re.M):
        assert (ROOT / script).is_file(), script


def test_every_page_is_linked_from_the_readme_and_the_index() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        if page.name != "README.md":
            assert f"(docs/{page.name})" in text_of("README.md")
            assert f"({page.name})" in text_of("docs/README.md")


@pytest.mark.parametrize("page", ["AGENTS.md", "docs/how-it-works.md", "docs/contributing.md"])
def test_every_file_that_is_named_is_there(page: str) -> None:
    folders = [path.name for path in (ROOT / "workbench").iterdir() if path.is_dir()]
    named = re.findall(rf"`(?:workbench/)?((?:{'|'.join(folders)})/[\w/.]*)`", text_of(page))
    assert named
    for name in named:
        path = ROOT / "workbench" / name
        assert path.exists() or path.with_suffix(".py").exists(), name
    elsewhere = re.findall(r"`(?:uv run python )?((?:tests|docs|examples|themes)/[\w/.-]*)`", text_of(page))
    assert [name for name in elsewhere if not (ROOT / name).exists()] == []
