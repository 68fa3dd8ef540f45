"""Commands that only read run no program, whatever the project's files and the repository's settings say."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.approval_patterns import pattern_allows, suggested_patterns
from workbench.agent.tools.base import ProposedCall, ToolContext, ToolFailure, ToolOutcome
from workbench.agent.tools.guarded_start import path_outside
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.reading_commands import READING, reading_name
from workbench.agent.tools.registry import Toolbox


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a tag and a changed file, all of whose attributes name a filter and a converter."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    (root / "f").write_text("old")
    (root / ".gitattributes").write_text("* filter=e diff=e\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    git(root, "tag", "-m", "x", "v1")
    (root / "f").write_text("new")
    return root


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a trace: a file with its name and `.ran`."""
    path = tmp_path / "program"
    path.write_text('#!/bin/sh\ntouch "$0.ran"\ncat\n')
    path.chmod(0o755)
    return path


def was_run(program: Path) -> bool:
    return program.with_name("program.ran").exists()


async def use(root: Path, command: str, *, shell: bool) -> ToolOutcome:
    return await Toolbox(root).run_tool("run_command", json.dumps({"command": command}), ToolContext(shell=shell))


COMMANDS = (
    *("git status", "git status -s", "git status -sb -uall", "git describe", "git ls-files -m", "git ls-files -o"),
    *("git rev-parse HEAD", "git rev-parse --show-toplevel"),
)


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize(
    "key",
    [
        *("core.fsmonitor", "filter.e.clean", "filter.e.process", "core.pager", "diff.external", "diff.e.textconv"),
        *("core.sshCommand", "gpg.program", "core.editor", "alias.status", "man.e.cmd"),
    ],
)
async def test_no_program_of_the_repositorys_settings_runs(repo: Path, program: Path, key: str, shell: bool) -> None:
    git(repo, "config", key, str(program))
    git(repo, "config", "filter.e.required", "true")
    git(repo, "config", "pager.status", "true")
    for command in COMMANDS:
        outcome = await use(repo, command, shell=shell)
        assert not outcome.is_error, (command, outcome.text)
        assert not was_run(program), command


async def test_no_hook_of_the_tree_runs(repo: Path, program: Path) -> None:
    hook = repo / ".husky" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\nexec {program}\n")
    hook.chmod(0o755)
    git(repo, "config", "core.hooksPath", ".husky")
    (repo / "f").write_text("old")  # only its time is new: git would write that down
    for command in COMMANDS:
        await use(repo, command, shell=False)
    assert not was_run(program)


async def test_nothing_runs_in_a_submodule(repo: Path, program: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "other")
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "other"), "sub")
    git(repo / "sub", "config", "filter.e.clean", str(program))
    git(repo, "config", "status.submoduleSummary", "true")
    git(repo, "config", "diff.ignoreSubmodules", "none")
    (repo / "sub" / "f").write_text("newer")
    for command in COMMANDS:
        assert not (await use(repo, command, shell=False)).is_error
    assert not was_run(program)


async def test_a_filter_of_the_users_own_settings_still_runs(
    repo: Path, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of git-lfs, without which its files would all be told as changed."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    git(tmp_path, "config", "--global", "filter.e.clean", str(program))
    (repo / "f").write_text("odd")
    await use(repo, "git status", shell=False)
    assert was_run(program)
    git(repo, "config", "filter.e.clean", str(program))
    program.with_name("program.ran").unlink()
    await use(repo, "git status", shell=False)
    assert not was_run(program), "the repository's own wins over the user's, and is switched off"


async def test_a_folder_that_only_looks_like_a_repository_is_none(tmp_path: Path, program: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "docs")
    docs = tmp_path / "docs"
    for key, value in (("core.bare", "false"), ("core.worktree", ".."), ("core.fsmonitor", str(program))):
        git(docs, "config", "-f", "config", key, value)
    outcome = await use(docs, "git status", shell=True)
    assert outcome.is_error
    assert "cannot use bare repository" in outcome.text
    assert not was_run(program)


async def test_programs_come_from_outside_the_project(
    repo: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "bin").mkdir()
    for name in ("git", "ls"):
        (repo / "bin" / name).write_text(f"#!/bin/sh\nexec {program}\n")
        (repo / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"bin:{repo}/bin:{repo}/../repo/bin", prepend=":")
    for command in ("git status", "ls", "git describe"):
        assert not (await use(repo, command, shell=False)).is_error
    assert not was_run(program)


async def test_what_git_says_is_what_it_always_says(repo: Path) -> None:
    (repo / "new file").write_text("x")
    for command in COMMANDS:
        plain = subprocess.run(shlex.split(command), cwd=repo, capture_output=True, text=True, check=True).stdout
        assert (await use(repo, command, shell=False)).text == f"{plain}[exit status 0]"


async def test_a_filter_that_cannot_be_switched_off_is_an_error(repo: Path, program: Path) -> None:
    (repo / ".git" / "config").open("a").write(f'[filter "a=b"]\nclean = {program}\n')
    outcome = await use(repo, "git status", shell=False)
    assert outcome.is_error
    assert "filter with = in its name" in outcome.text


def run_call(command: str) -> ProposedCall:
    return ProposedCall("run_command", "run", command)


@pytest.mark.parametrize(
    "command",
    [
        *("git status --help", "git status -v", "git status -sv", "git status --verb", "git describe --dirty"),
        *("git status --ignore-submodules=none", "git status --ignore-sub=none", "git ls-files --recurse-submodules"),
        *("git describe --help", "git describe --di", "git ls-files -X /etc/passwd", "git rev-parse --parseopt"),
        *('git status "--help"', "git status -s --help", "git describe x --broken", "git rev-parse --sq-quote x"),
    ],
)
def test_an_option_that_may_run_something_is_asked_for(command: str) -> None:
    start = " ".join(command.split()[:2])
    assert not pattern_allows(f"run_command:{start} *", run_call(command))
    assert pattern_allows("run_command:git *", run_call(command)), "the user's own pattern is wider"
    assert suggested_patterns(run_call(command)) == (f"run_command:{command}",)


words = st.lists(st.text("abemv-=./", min_size=1, max_size=8).filter(lambda word: word[0] != "="), max_size=3)


@given(st.sampled_from(sorted(READING)), words)
def test_what_is_offered_covers_just_what_reads(name: str, more: list[str]) -> None:
    command = shlex.join([*name.split(), *more])
    reads = bool(reading_name([*name.split(), *more]))
    assert pattern_allows(f"run_command:{name} *", run_call(command)) == reads
    assert (f"run_command:{name} *" in suggested_patterns(run_call(command))) == reads


def test_no_test_runner_is_offered() -> None:
    """It runs what the model may have written, and writes files anywhere: `--junitxml=/...`."""
    assert suggested_patterns(run_call("pytest -q")) == ("run_command:pytest -q",)


def test_a_path_without_folders_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "project" / "bin")
    (tmp_path / "project" / "bin").mkdir(parents=True)
    path = f":.:bin:{tmp_path}/link:{tmp_path}/project/bin:/usr/bin:../x:/bin"
    assert path_outside([tmp_path / "project"], {"PATH": path}) == "/usr/bin:/bin"
    assert path_outside([tmp_path], {"PATH": "bin"}) != "bin"


@pytest.mark.parametrize(
    ("there", "path"),
    [
        (("HEAD", "objects/x", "refs/x"), "config"),
        (("HEAD", "objects/x"), "refs/heads/main"),
        (("refs/x", "objects/x"), "HEAD"),
        (("refs/x", "objects/x"), "head"),
        (("HEAD",), "commondir"),
        (("commondir",), "HEAD"),
        (("HEAD", "objects/x", "refs/x"), "hooks/post-index-change"),
        (("docs/HEAD", "docs/objects/x", "docs/refs/x"), "docs/config"),
        ((), ".g\u200cit/config"),
        ((), "a/.GIT/config"),
    ],
)
def test_no_file_makes_or_changes_a_repository(tmp_path: Path, there: tuple[str, ...], path: str) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(ToolFailure, match="belongs to git itself"):
        AllowedFolders(tmp_path).find_writable(path)


def test_files_that_are_named_alike_can_be_written(tmp_path: Path) -> None:
    for name in ("HEAD", "objects", "config"):
        (tmp_path / name).touch()
    for path in ("HEAD", "config", "src/refs/x", "commondirs", ".gitignore", "objects"):
        assert AllowedFolders(tmp_path).find_writable(path) == tmp_path / path
