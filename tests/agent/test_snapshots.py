"""Snapshots of a real repository: complete, invisible, and brought back without losing anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.agent import private_git, snapshots
from workbench.agent.private_git import Git, SnapshotFailed
from workbench.agent.snapshots import (
    SnapshotDifference,
    compare_snapshot,
    kept_snapshots,
    prune_snapshots,
    restore_snapshot,
    take_snapshot,
)
from workbench.config.paths import data_dir
from workbench.log.events import Snapshot


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit, a staged change, an unstaged one, a new file and an ignored one."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@localhost")
    for name in ("kept", "staged", "changed", "deep/er/file"):
        put(folder / name, "old")
    put(folder / ".gitignore", "ignored\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    put(folder / "staged", "staged")
    git(folder, "add", "staged")
    put(folder / "changed", "changed")
    put(folder / "new", "new")
    put(folder / "ignored", "ignored")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def seen(folder: Path) -> tuple[object, ...]:
    """What the user sees of the repository."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
    return (
        files,
        (folder / ".git/index").read_bytes(),
        (folder / ".git/HEAD").read_text(),
        git(folder, "branch", "-a", "-v"),
        git(folder, "tag"),
        git(folder, "stash", "list"),
    )


async def taken(folder: Path, why: str = "") -> Snapshot:
    snapshot = await take_snapshot(folder, why)
    assert snapshot is not None
    return snapshot


async def test_a_snapshot_has_every_file_that_is_not_ignored_and_changes_nothing(repo: Path) -> None:
    before = seen(repo)
    snapshot = await taken(repo / "deep", "write_file deep/x")
    assert seen(repo) == before
    assert (snapshot.root, snapshot.why) == (str(repo), "write_file deep/x")
    assert git(repo, "ls-tree", "-r", "--name-only", snapshot.commit).split() == [
        *(".gitignore", "changed", "deep/er/file", "kept", "new", "staged")
    ]
    assert git(repo, "show", f"{snapshot.commit}:changed") == "changed"
    assert git(repo, "log", "-1", "--format=%an|%s", snapshot.commit) == (
        "Workbench|Workbench snapshot: write_file deep/x\n"
    )
    assert git(repo, "rev-parse", f"{snapshot.commit}^") == git(repo, "rev-parse", "HEAD")


async def test_git_does_not_collect_a_snapshot_until_it_is_let_go(repo: Path) -> None:
    kept = [await taken(repo, str(number)) for number in range(3)]
    git(repo, "gc", "-q", "--prune=now")
    for snapshot in kept:
        git(repo, "cat-file", "-e", snapshot.commit)
    assert await prune_snapshots(repo, keep=1) == 2
    assert await prune_snapshots(repo, keep=1) == 0
    assert len(git(repo, "for-each-ref", snapshots.REFS).splitlines()) == 1


async def test_the_newest_are_kept_also_of_those_of_one_second(repo: Path) -> None:
    commits = [(await taken(repo, str(number))).commit for number in range(5)]
    for keep in (4, 3, 2, 1):
        assert await prune_snapshots(repo, keep) == 1
        assert await kept_snapshots(repo) == set(commits[-keep:])


async def test_outside_a_repository_there_is_none(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert await take_snapshot(tmp_path / "plain") is None
    assert await take_snapshot(repo / ".git") is None
    assert await take_snapshot(tmp_path / "gone") is None
    monkeypatch.setenv("PATH", str(tmp_path / "plain"))
    assert await take_snapshot(repo) is None


async def test_a_repository_without_a_commit_has_snapshots(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    empty = await taken(tmp_path / "empty")
    put(tmp_path / "empty/a", "a")
    await taken(tmp_path / "empty")
    back = await restore_snapshot(empty, remove_created=True)
    assert back.removed == ("a",)


async def test_restoring_brings_files_back_and_keeps_what_was_created(repo: Path) -> None:
    before = seen(repo)
    snapshot = await taken(repo)
    put(repo / "kept", "spoilt")
    (repo / "deep/er/file").unlink()
    (repo / "deep/er").rmdir()
    (repo / "new").unlink()
    put(repo / "made/up", "created")
    put(repo / "ignored", "later")
    back = await restore_snapshot(snapshot)
    assert back.changed == ("deep/er/file", "kept", "new")
    assert (back.created, back.removed, back.blocked) == (("made/up",), (), ())
    assert (repo / "made/up").read_text() == "created"
    assert (repo / "ignored").read_text() == "later"
    assert (await restore_snapshot(snapshot, remove_created=True)).removed == ("made/up",)
    assert not (repo / "made").exists()
    put(repo / "ignored", "ignored")
    assert seen(repo) == before


async def test_a_restore_can_be_undone(repo: Path) -> None:
    snapshot = await taken(repo)
    put(repo / "kept", "second")
    put(repo / "made", "created")
    spoilt = seen(repo)
    back = await restore_snapshot(snapshot, remove_created=True)
    assert seen(repo) != spoilt
    assert back.before.why == f"before restoring {snapshot.commit[:12]}"
    await restore_snapshot(back.before, remove_created=True)
    assert seen(repo) == spoilt


async def test_modes_links_and_odd_names_come_back(repo: Path) -> None:
    odd = os.fsdecode(b'caf\xe9 \n"x')
    put(repo / odd, "odd")
    (repo / "kept").chmod(0o755)
    os.symlink("kept", repo / "link")
    snapshot = await taken(repo)
    (repo / odd).unlink()
    (repo / "kept").chmod(0o644)
    (repo / "link").unlink()
    put(repo / "link", "no link")
    back = await restore_snapshot(snapshot)
    assert set(back.changed) == {odd, "kept", "link"}
    assert (repo / odd).read_text() == "odd"
    assert os.access(repo / "kept", os.X_OK)
    assert os.readlink(repo / "link") == "kept"


async def test_nothing_is_removed_to_make_room(repo: Path) -> None:
    snapshot = await taken(repo)
    (repo / "kept").unlink()
    put(repo / "kept/ignored", "precious")  # an ignored file, in no snapshot
    (repo / "deep/er/file").unlink()
    (repo / "deep/er").rmdir()
    os.symlink("..", repo / "deep/er")
    back = await restore_snapshot(snapshot)
    assert set(back.blocked) == {"kept", "deep/er/file"}
    assert (repo / "kept/ignored").read_text() == "precious"
    assert (repo / "deep/er").is_symlink()
    back = await restore_snapshot(snapshot, remove_created=True)
    assert (back.blocked, back.changed, back.removed) == (("kept",), ("deep/er/file",), ("deep/er",))


async def test_repositories_inside_are_left_alone(repo: Path) -> None:
    git(repo, "init", "-q", "inner")
    inner = repo / "inner"
    put(inner / "a", "a")
    git(inner, "-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x")
    snapshot = await taken(repo)
    put(inner / "a", "b")
    git(inner, "-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "y")
    assert (await restore_snapshot(snapshot, remove_created=True)).changed == ()
    assert (inner / "a").read_text() == "b"


async def test_what_could_not_be_read_is_said_and_the_rest_is_kept(repo: Path) -> None:
    git(repo, "init", "-q", "unborn")
    snapshot = await taken(repo, "write_file a")
    assert snapshot.why.startswith("write_file a (incomplete: ")
    assert "new" in git(repo, "ls-tree", "--name-only", snapshot.commit).split()


async def test_hooks_and_variables_of_git_have_no_say(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = repo / ".git/hooks/post-index-change"
    put(hook, "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    await taken(repo)
    assert not (repo / "ran").exists()


EVIL = "touch {place}/ran; cat"


def set_traps(folder: Path, config: Path, attributes: Path, place: Path) -> None:
    """Settings of a repository that name programs, wherever git would run them."""
    evil = EVIL.format(place=place)
    for kind in ("clean", "smudge", "process"):
        git(folder, "config", "-f", str(config), f"filter.evil.{kind}", evil)
    git(folder, "config", "-f", str(config), "filter.evil.required", "true")
    git(folder, "config", "-f", str(config), "core.fsmonitor", evil)
    git(folder, "config", "-f", str(config), "core.hooksPath", str(place / "hooks"))
    git(folder, "config", "-f", str(config), "diff.external", evil)
    git(folder, "config", "-f", str(config), "diff.evil.textconv", evil)
    put(attributes, "* filter=evil diff=evil\n")
    for name in ("post-index-change", "reference-transaction"):
        put(place / "hooks" / name, f"#!/bin/sh\n{evil}\n")
        (place / "hooks" / name).chmod(0o755)


@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
async def test_nothing_that_a_repository_names_is_run(repo: Path, tmp_path: Path, attributes: str) -> None:
    set_traps(repo, repo / ".git/config", repo / attributes, tmp_path)
    snapshot = await taken(repo)
    put(repo / "kept", "spoilt")
    assert "kept" in (await compare_snapshot(snapshot)).changed
    await restore_snapshot(snapshot)
    assert (repo / "kept").read_text() == "old"
    await kept_snapshots(repo)
    await prune_snapshots(repo, 1)
    assert not (tmp_path / "ran").exists()


async def test_a_folder_that_looks_like_a_repository_is_none(repo: Path, tmp_path: Path) -> None:
    git(repo, "init", "-q", "--bare", "docs")
    git(repo, "config", "-f", "docs/config", "core.bare", "false")
    git(repo, "config", "-f", "docs/config", "core.worktree", "..")
    set_traps(repo, repo / "docs/config", repo / ".gitattributes", tmp_path)
    await take_snapshot(repo / "docs")
    await take_snapshot(repo)
    assert not (tmp_path / "ran").exists()


async def test_a_repository_inside_has_no_say_either(repo: Path, tmp_path: Path) -> None:
    git(repo, "init", "-q", "inner")
    inner = repo / "inner"
    put(inner / "a", "a")
    git(inner, "add", "a")
    git(inner, "-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "-m", "x")
    git(repo, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    set_traps(inner, inner / ".git/config", inner / ".gitattributes", tmp_path)
    for text in ("b", "c"):
        put(inner / "a", text)
        await taken(repo)
    assert not (tmp_path / "ran").exists()


async def test_a_work_tree_elsewhere_is_left_alone(repo: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/precious", "x")
    git(repo, "config", "core.worktree", str(tmp_path / "elsewhere"))
    assert await take_snapshot(repo) is None


async def test_a_part_of_a_clone_that_is_missing_is_not_fetched(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "remote.origin.url", f"ext::sh -c touch%20{tmp_path}/ran")
    git(repo, "config", "protocol.ext.allow", "always")
    for name, value in (("remote.origin.promisor", "true"), ("extensions.partialClone", "origin")):
        git(repo, "config", name, value)
    git(repo, "config", "core.repositoryFormatVersion", "1")
    head = git(repo, "rev-parse", "HEAD").strip()
    (repo / ".git/objects" / head[:2] / head[2:]).unlink()
    await take_snapshot(repo)
    assert not (tmp_path / "ran").exists()


async def test_bytes_come_back_as_they_were_whatever_git_converts(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    put(repo / ".gitattributes", "*.txt text=auto ident\n*.utf working-tree-encoding=UTF-16\n")
    content = {"a.txt": b"one\r\ntwo\n$Id$\r\n", "b.utf": "x\n".encode("utf-16"), "kept": b"old\r\n"}
    for name, data in content.items():
        (repo / name).write_bytes(data)
    git(repo, "-c", "core.safecrlf=false", "add", "-A")
    snapshot = await taken(repo)
    for name in content:
        (repo / name).write_bytes(b"spoilt")
    await restore_snapshot(snapshot)
    assert {name: (repo / name).read_bytes() for name in content} == content


async def test_what_is_kept_for_the_next_snapshot_may_be_damaged_or_name_what_is_gone(repo: Path) -> None:
    first = await taken(repo)
    [index] = (data_dir() / "snapshots").iterdir()
    put(repo / "kept", "changed")
    assert (await compare_snapshot(first)).changed == ("kept",)
    index.write_bytes(b"no index")
    assert git(repo, "show", f"{(await taken(repo)).commit}:kept") == "changed"
    await prune_snapshots(repo, keep=0)
    git(repo, "gc", "-q", "--prune=now")
    assert git(repo, "show", f"{(await taken(repo)).commit}:new") == "new"


async def test_links_in_a_repositorys_own_folder_lead_nowhere(repo: Path) -> None:
    (repo / ".git/info/exclude").unlink()
    os.symlink("/dev/zero", repo / ".git/info/exclude")
    snapshot = await taken(repo)
    assert "ignored" not in git(repo, "ls-tree", "-r", "--name-only", snapshot.commit).split()


async def test_git_sees_no_key(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "bin/git", f'#!/bin/sh\nenv >> {tmp_path}/seen\nexec {shutil.which("git")} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("OPENAI_API_KEY", "GH_TOKEN", "GIT_ASKPASS", "GIT_SSH_COMMAND", "LD_LIBRARY_PATH_X"):
        monkeypatch.setenv(name, "sk-secret")
    await restore_snapshot(await taken(repo))
    assert "sk-secret" not in (tmp_path / "seen").read_text()


async def test_too_little_time_is_reported(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_git, "SECONDS", 0)
    with pytest.raises(SnapshotFailed, match=r"git took longer than 0 s; no snapshot$"):
        await take_snapshot(repo)


async def test_what_git_says_is_reported(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repo / ".git/config", "[broken")
    with pytest.raises(SnapshotFailed, match=r"git rev-parse failed: .*bad config"):
        await take_snapshot(repo)


async def test_a_command_that_fails_is_named(repo: Path) -> None:
    with pytest.raises(SnapshotFailed, match=r": git rev-list failed: "):
        await Git(repo).output_of("rev-list", "nowhere")


async def test_only_the_name_of_a_commit_is_restored(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(SnapshotFailed, match="expected the name of a commit"):
        await restore_snapshot(Snapshot("--output=x", str(repo)))
    with pytest.raises(SnapshotFailed, match="the state from before is kept as"):
        await restore_snapshot(Snapshot("0" * 40, str(repo)))
    with pytest.raises(SnapshotFailed, match="finds no repository here any more, or is not installed"):
        await restore_snapshot(Snapshot("0" * 40, str(tmp_path / "gone")))


async def test_what_would_change_is_told_without_changing_or_keeping_anything(repo: Path) -> None:
    snapshot = await taken(repo)
    put(repo / "kept", "changed since")
    put(repo / "made/up", "since")
    (repo / "new").unlink()
    (repo / "changed").unlink()
    put(repo / "changed/folder", "in the way")
    before, refs = seen(repo), git(repo, "for-each-ref")
    found = await compare_snapshot(snapshot)
    assert found == SnapshotDifference(("kept", "new"), ("changed/folder", "made/up"), ("changed",))
    assert (seen(repo), git(repo, "for-each-ref")) == (before, refs)
    back = await restore_snapshot(snapshot)
    assert (back.changed, back.created, back.blocked) == found


async def test_what_is_in_the_way_goes_with_what_was_created(repo: Path) -> None:
    snapshot = await taken(repo)
    (repo / "changed").unlink()
    put(repo / "changed/folder", "in the way")
    back = await restore_snapshot(snapshot, remove_created=True)
    assert (back.changed, back.removed, back.blocked) == (("changed",), ("changed/folder",), ())
    assert (repo / "changed").read_text() == "changed"


async def test_which_snapshots_a_repository_still_has(repo: Path, tmp_path: Path) -> None:
    first, second = await taken(repo), await taken(repo, "again")
    assert await kept_snapshots(repo) == {first.commit, second.commit}
    assert len(await kept_snapshots(repo)) - await prune_snapshots(repo, 1) == 1
    for gone in (tmp_path / "gone", tmp_path):
        assert await kept_snapshots(gone) == frozenset()
        assert await prune_snapshots(gone, 1) == 0


async def test_nothing_is_compared_with_what_is_no_commit(repo: Path) -> None:
    with pytest.raises(SnapshotFailed, match="expected the name of a commit"):
        await compare_snapshot(Snapshot("--output=x", str(repo)))
    before = await taken(repo)
    with pytest.raises(SnapshotFailed, match="expected the name of a commit"):
        await restore_snapshot(Snapshot("--output=x", str(repo)), before)
