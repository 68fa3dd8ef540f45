"""The file of approvals: answers are added and taken out, the rest stays as the user wrote it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.approval_calls import Person, command
from workbench.agent import approvals as approvals_module
from workbench.agent.approvals import (
    Approvals,
    SavedApprovals,
    forget_pattern,
    load_saved,
    save_patterns,
)
from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir
from workbench.log.lock import locked_folder

patterns = st.lists(
    st.tuples(st.sampled_from(["run_command", "write_file", "x.*"]), st.text().filter(str.strip)).map(":".join),
    max_size=4,
    unique=True,
).map(tuple)


@given(patterns, patterns)
def test_what_is_saved_is_loaded_again(always: tuple[str, ...], never: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.unlink(missing_ok=True)
    save_patterns(path, SavedApprovals(always[:1], never))
    save_patterns(path, SavedApprovals(always, ()))
    assert load_saved(path) == SavedApprovals(always, never)


lines = st.lists(st.sampled_from(['"run_command:a",', '"run_command:b" , # after', "# alone", ""]), max_size=5)


@given(lines, st.sampled_from(["", '"x"', '"x" # last', '"x"\n  # behind']), patterns)
def test_what_the_user_wrote_in_the_file_stays(body: list[str], last: str, more: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# mine\nnever = [ # so\n" + "\n".join([*body, last]) + "\n] # done\n\n# the end\n")
    before = path.read_text()
    save_patterns(path, SavedApprovals(never=more))
    comment = re.compile("# (?:mine|so|after|alone|last|behind|done|the end)$", re.MULTILINE)
    assert comment.findall(path.read_text()) == comment.findall(before)
    written = tomllib.loads(before)["never"]
    assert load_saved(path).never == (*written, *(pattern for pattern in more if pattern not in written))


@given(patterns, patterns.filter(bool))
def test_what_is_forgotten_is_gone_and_the_rest_stays(always: tuple[str, ...], never: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.unlink(missing_ok=True)
    save_patterns(path, SavedApprovals(always, never))
    path.write_text(f"# mine\n{path.read_text()}# the end\n")
    forget_pattern(path, never[0])
    kept = [tuple(each for each in patterns if each != never[0]) for patterns in (always, never)]
    assert load_saved(path) == SavedApprovals(*kept)
    assert path.read_text().startswith("# mine\n")
    assert path.read_text().endswith("# the end\n")
    with pytest.raises(WrongCall, match="has no"):
        forget_pattern(path, never[0])


async def test_answers_of_another_session_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    one, other = Approvals.load(path=path), Approvals.load(path=path)
    await one.approve(command("a"), Person("always"))
    await other.approve(command("b"), Person("never"))
    await one.approve(command("a b"), Person("always", "run_command:a *"))
    assert tomllib.loads(path.read_text())["always"] == ["run_command:a", "run_command:a *"]
    assert load_saved(path).never == ("run_command:b",)


async def test_an_answer_that_cannot_be_saved_holds_for_the_session(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    approvals = Approvals(path=tmp_path / "file" / "approvals.toml")
    assert await approvals.approve(command("a"), Person("always"))
    assert approvals.decision_for(command("a")) == "allow"
    assert "cannot be written" in approvals.problems[0]
    broken = tmp_path / "broken.toml"
    broken.write_text("always = 7")
    approvals = Approvals(path=broken)
    await approvals.approve(command("a"), Person("always"))
    assert broken.read_text() == "always = 7"
    assert approvals.problems == [f"{broken}: always: expected a list of patterns, got 7"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("allways = []", "allways: no such key; expected one of always, never; did you mean always?"),
        ("always = 'x'", "always: expected a list of patterns, got 'x'"),
        ("never = [1]", "never: expected a list of patterns, got [1]"),
        ("never = ['a b:c']", "never: expected TOOL or TOOL:PATTERN"),
    ],
)
def test_a_file_that_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "approvals.toml"
    path.write_text(text)
    with pytest.raises(WrongCall) as error:
        Approvals.load(path=path)
    assert str(error.value).startswith(f"{path}: {problem}")


def test_answers_of_two_processes_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    code = (
        "import sys; from pathlib import Path; from workbench.agent.approvals import SavedApprovals, save_patterns\n"
        "for n in range(15):\n"
        "    save_patterns(Path(sys.argv[1]), SavedApprovals(always=(f'run_command:{sys.argv[2]}{n}',)))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert set(load_saved(path).always) == {f"run_command:{name}{number}" for name in "ab" for number in range(15)}
    assert [each.name for each in tmp_path.iterdir()] == ["approvals.toml"]


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, path = tmp_path / "dotfiles" / "mine.toml", tmp_path / "approvals.toml"
    real.write_text('always = ["a"]\n')
    path.symlink_to(real)
    save_patterns(path, SavedApprovals(always=("b",)))
    forget_pattern(path, "a")
    assert path.is_symlink()
    assert load_saved(real).always == ("b",)


def test_a_file_that_another_holds_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals_module, "LOCK_SECONDS", 0.05)
    with (
        locked_folder(tmp_path, 1),
        pytest.raises(WrongCall, match="another session has been changing it"),
    ):
        save_patterns(tmp_path / "approvals.toml", SavedApprovals(always=("a",)))
