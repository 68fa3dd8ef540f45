"""Repositories whose settings name programs, and links that lead out of a project, where a turn looks by itself.

A fault: something that a repository names was run, a file was not brought back, or a text from outside was read.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from hostile.tally import Tally
from workbench.agent import snapshots
from workbench.agent.instructions import load_instructions
from workbench.context.policy import InstructionsPolicy

PROGRAMS = (
    "filter.e.clean", "filter.e.smudge", "filter.e.process", "core.fsmonitor", "core.hooksPath", "diff.external",
    "core.sshCommand", "core.pager", "core.editor", "gpg.program", "core.askPass", "core.gitProxy", "alias.add",
    "core.alternateRefsCommand", "uploadpack.packObjectsHook", "credential.helper", "merge.e.driver", "diff.e.textconv",
    "diff.e.command", "core.attributesFile", "include.path",
)  # fmt: skip
PLACES = ("own", "own, for this work tree", "a folder that looks like a repository", "a repository inside")
SECRET = "from outside"


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many repositories and links, half of each."""
    tally = Tally("repositories and links")
    pairs = [(place, key) for place in PLACES for key in PROGRAMS]
    for number, (place, key) in enumerate(chance.choices(pairs, k=tries - tries // 2)):
        with tally.watching(f"{place}: {key}"):
            asyncio.run(_repository(folder / f"r{number}", place, key))
        shutil.rmtree(folder / f"r{number}")
    for number in range(tries // 2):
        link = chance.choice(LINKS)
        with tally.watching(f"AGENTS.md, {LINKS.index(link)}"):
            _link(folder / f"l{number}", link, chance.choice(("", "a", "a/b")))
        shutil.rmtree(folder / f"l{number}")
    return tally


async def _repository(base: Path, place: str, key: str) -> None:
    base.mkdir()
    repo, marker, program = base / "repo", base / "ran", base / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    for name in ("post-index-change", "reference-transaction"):
        (base / "hooks").mkdir(exist_ok=True)
        (base / "hooks" / name).write_text(program.read_text())
        (base / "hooks" / name).chmod(0o755)
    program.chmod(0o755)
    (base / "more").write_text(f'[filter "e"]\nclean = {program}\nsmudge = {program}\n')
    _git(base, "init", "-q", "repo")
    (repo / "f").write_text("old")
    (repo / ".gitattributes").write_text("* filter=e diff=e merge=e\n")
    where, config = _place(repo, place)
    values = {"core.hooksPath": base / "hooks", "include.path": base / "more", "core.attributesFile": base / "more"}
    _git(repo, "config", "-f", str(config), key, str(values.get(key, program)))
    for _ in range(2):
        taken = await snapshots.take_snapshot(where)
        if taken is not None:
            (repo / "f").write_text("new")
            await snapshots.restore_snapshot(taken)
            assert (repo / "f").read_text() == "old", "not brought back"
    assert not marker.exists(), "it was run"


def _place(repo: Path, place: str) -> tuple[Path, Path]:
    """Where work is done, and the settings that lead there or nearby."""
    if place == "own":
        return repo, repo / ".git/config"
    if place.startswith("own"):
        _git(repo, "config", "extensions.worktreeConfig", "true")
        return repo, repo / ".git/config.worktree"
    if place.startswith("a folder"):
        _git(repo, "init", "-q", "--bare", "docs")
        _git(repo, "config", "-f", "docs/config", "core.bare", "false")
        _git(repo, "config", "-f", "docs/config", "core.worktree", "..")
        return repo / "docs", repo / "docs/config"
    _git(repo, "init", "-q", "inner")
    _git(repo / "inner", "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x")
    (repo / "inner/.gitattributes").write_text("* filter=e\n")
    return repo, repo / "inner/.git/config"


def _git(folder: Path, *arguments: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=env)


def _through_folder(path: Path, outside: Path, root: Path) -> None:
    (root / "d").symlink_to(outside)
    path.symlink_to(root / "d" / "secret")


def _through_links(path: Path, outside: Path, root: Path) -> None:
    (root / "l1").symlink_to(outside / "secret")
    (root / "l2").symlink_to("l1")
    path.symlink_to(root / "l2")


LINKS: tuple[Callable[[Path, Path, Path], object], ...] = (
    lambda path, outside, root: path.symlink_to(outside / "secret"),
    lambda path, outside, root: path.symlink_to(os.path.relpath(outside, path.parent) + "/secret"),
    lambda path, outside, root: path.symlink_to(f"{root}/../outside/secret"),
    lambda path, outside, root: path.symlink_to(f"/proc/self/root{outside}/secret"),
    lambda path, outside, root: path.symlink_to("/proc/self/environ"),
    lambda path, outside, root: path.symlink_to("/dev/zero"),
    lambda path, outside, root: path.symlink_to("/etc/passwd"),
    lambda path, outside, root: path.symlink_to(path),
    lambda path, outside, root: os.mkfifo(path),
    _through_folder,
    _through_links,
)


def _link(base: Path, link: Callable[[Path, Path, Path], object], where: str) -> None:
    root, outside = base / "root", base / "outside"
    (root / "a/b").mkdir(parents=True)
    (root / ".git").mkdir()
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    link(root / where / "AGENTS.md", outside, root)
    found = load_instructions(root / "a/b", base / "config", InstructionsPolicy())
    assert found.files == (), "it was read"
    assert len(found.problems) == 1, "nothing is said"
