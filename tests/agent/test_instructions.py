"""Every `AGENTS.md` that holds in a folder: each once, in order, within the limit, whatever a disk holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.agent.instructions import FileText, Instructions, fit_instructions, load_instructions
from workbench.context.policy import InstructionsPolicy

# No folder above a test's own has this, whatever else the machine holds.
POLICY = InstructionsPolicy(root_markers=(".root-of-this-test",))


class Tree:
    """A project with a config folder beside it."""

    def __init__(self, base: Path) -> None:
        self.config = base / "config"
        self.root = base / "project"
        self.cwd = self.root / "a" / "b"
        self.config.mkdir()
        self.cwd.mkdir(parents=True)
        (self.root / ".root-of-this-test").touch()

    def write(self, folder: Path, content: str | bytes) -> Path:
        path = folder / "AGENTS.md"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def load(self, max_bytes: int = POLICY.max_bytes, cwd: Path | None = None) -> Instructions:
        policy = InstructionsPolicy(max_bytes=max_bytes, root_markers=POLICY.root_markers)
        return load_instructions(cwd or self.cwd, self.config, policy)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def texts(instructions: Instructions) -> list[str]:
    return [file.text for file in instructions.files]


@requirement(
    "codex", "instructions", "the order is global, project root, then folder by folder down to the working directory"
)
@requirement(
    "codex",
    "instructions",
    "global instructions lie in a folder of the program's in the home folder",
    decided="in the program's config folder, where the system keeps such",
)
def test_the_order_is_config_folder_root_then_down_to_the_working_directory(tree: Tree) -> None:
    for name, folder in [
        ("working", tree.cwd),
        ("between", tree.cwd.parent),
        ("root", tree.root),
        ("config", tree.config),
        ("above", tree.root.parent),
    ]:
        tree.write(folder, name)
    loaded = tree.load()
    assert texts(loaded) == ["config", "root", "between", "working"]
    assert loaded.problems == ()
    assert loaded.total_bytes == len("configrootbetweenworking")
    assert loaded.files[1].path == tree.root / "AGENTS.md"


@pytest.mark.parametrize("marker", [".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml"])
def test_each_known_marker_makes_a_root(tmp_path: Path, marker: str) -> None:
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)
    (tmp_path / "project" / marker).touch()
    (tmp_path / "project" / "AGENTS.md").write_text("root", encoding="utf-8")
    assert texts(load_instructions(below, tmp_path / "config", InstructionsPolicy())) == ["root"]


@requirement("codex", "instructions", "without a project root only the working directory's own file is read")
def test_without_a_root_only_the_working_directory_counts(tree: Tree) -> None:
    (tree.root / ".root-of-this-test").unlink()
    tree.write(tree.root, "root")
    tree.write(tree.cwd, "working")
    assert texts(tree.load()) == ["working"]


@requirement("codex", "instructions", "the search for a root goes up and ends at the top")
@pytest.mark.parametrize("found", [True, False])
def test_the_search_for_a_root_ends_at_the_top_of_the_file_system(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    """Every folder is looked at once, from the working directory to the top; a root at the top is found there."""
    tree.write(tree.root, "root")
    tree.write(tree.cwd, "here")
    looked: list[Path] = []

    def lexists(path: object) -> bool:
        looked.append(Path(str(path)).parent)
        return found and looked[-1] == Path("/")

    monkeypatch.setattr(os.path, "lexists", lexists)
    loaded = load_instructions(tree.cwd, tree.config, POLICY)
    assert looked == [tree.cwd, *tree.cwd.parents]
    assert looked[-1] == Path("/")
    texts_below = [file.text for file in loaded.files if tree.root in file.path.parents]
    assert texts_below == (["root", "here"] if found else ["here"])


@requirement(
    "codex",
    "instructions",
    "the root's file is read as root and again as a nested one",
    decided="each file counts once",
)
def test_a_root_that_is_the_working_directory_counts_once(tree: Tree) -> None:
    tree.write(tree.root, "root")
    assert texts(tree.load(cwd=tree.root)) == ["root"]


def test_a_file_that_several_links_lead_to_counts_once_where_first_met(tree: Tree) -> None:
    path = tree.write(tree.root, "shared")
    (tree.config / "AGENTS.md").symlink_to(path)
    (tree.cwd / "AGENTS.md").symlink_to(path)
    loaded = tree.load()
    assert [file.path for file in loaded.files] == [tree.config / "AGENTS.md"]
    assert loaded.problems == ()


def test_a_link_out_of_the_project_is_not_read(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("PRIVATE KEY")
    (tree.root / "AGENTS.md").symlink_to(tmp_path / "secret")
    (tree.root / "elsewhere").symlink_to(tmp_path)
    (tree.cwd / "AGENTS.md").symlink_to(tree.root / "elsewhere" / "secret")
    (tree.config / "AGENTS.md").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").write_text("Be kind.")
    loaded = tree.load()
    assert texts(loaded) == ["Be kind."], "the user's own folder may link anywhere"
    assert loaded.problems == (f"{tree.root / 'AGENTS.md'}: is a link out of the project {tree.root}; not read",)


def test_a_linked_working_directory_belongs_to_the_project_it_lies_in(tree: Tree, tmp_path: Path) -> None:
    tree.write(tree.root, "root")
    link = tmp_path / "link"
    link.symlink_to(tree.cwd)
    assert texts(tree.load(cwd=link)) == ["root"]


def test_a_relative_working_directory_is_found(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write(tree.root, "root")
    monkeypatch.chdir(tree.cwd)
    assert texts(tree.load(cwd=Path("."))) == ["root"]


@requirement("codex", "instructions", "a file that is missing or empty is passed over")
def test_empty_files_are_no_instructions(tree: Tree) -> None:
    tree.write(tree.root, "")
    tree.write(tree.cwd, " \n")
    assert tree.load() == Instructions()


def a_folder(path: Path) -> None:
    path.mkdir()


def a_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


def a_loop(path: Path) -> None:
    path.symlink_to(path)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@requirement("codex", "instructions", "a file that cannot be read does no harm")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_folder, "expected a file, this is a folder"),
        (a_dangling_link, "expected a file, got a link to one that is not there"),
        (a_loop, "cannot be read: "),
        (a_pipe, "expected a file, this is a pipe"),
    ],
)
def test_what_cannot_be_read_is_reported_and_survived(tree: Tree, make: Callable[[Path], None], said: str) -> None:
    make(tree.root / "AGENTS.md")
    tree.write(tree.config, "config")
    tree.write(tree.cwd, "working")
    loaded = tree.load()
    assert texts(loaded) == ["config", "working"]
    (problem,) = loaded.problems
    assert problem.startswith(f"{tree.root / 'AGENTS.md'}: {said}")


def test_a_config_folder_that_is_a_file_is_reported(tree: Tree) -> None:
    tree.config.rmdir()
    tree.config.touch()
    tree.write(tree.root, "root")
    loaded = tree.load()
    assert texts(loaded) == ["root"]
    assert loaded.problems[0].startswith(f"{tree.config / 'AGENTS.md'}: cannot be read: ")


def test_bytes_that_are_not_utf8_are_replaced_and_reported(tree: Tree) -> None:
    path = tree.write(tree.root, b"na\xefve\n")
    loaded = tree.load()
    assert texts(loaded) == ["na\ufffdve\n"]
    assert loaded.problems == (f"{path}: expected UTF-8, got the byte 0xef at 2; replaced such bytes",)
    assert loaded.files[0].original_bytes == loaded.total_bytes == len("na\ufffdve\n".encode())


def test_a_byte_order_mark_is_no_part_of_the_text(tree: Tree) -> None:
    tree.write(tree.root, b"\xef\xbb\xbfhello")
    loaded = tree.load()
    assert texts(loaded) == ["hello"]
    assert loaded.total_bytes == 5


def test_the_limit_is_32_kib_in_all(tree: Tree) -> None:
    tree.write(tree.config, "c" * 32 * 1024)
    assert not tree.load().files[0].cut
    tree.write(tree.root, "r")
    loaded = tree.load()
    assert len(loaded.files) == 1
    assert loaded.problems == (f"{tree.root / 'AGENTS.md'}: left out, 0 of 32768 bytes are left",)


@requirement(
    "codex",
    "instructions",
    "what is over the limit is cut, with a marker at the end",
    decided="on a whole line, and the marker sits inside the limit and says what was kept",
)
def test_the_file_that_goes_over_is_cut_on_a_whole_line_and_says_so(tree: Tree) -> None:
    tree.write(tree.config, "first\n")
    path = tree.write(tree.root, "ünïcode line\n" * 100)
    loaded = tree.load(max_bytes=500)
    assert [file.cut for file in loaded.files] == [False, True]
    kept, _, marker = loaded.files[1].text.rpartition("\n")
    assert marker == f"[truncated: kept first {len(kept.encode()) + 1} of 1500 bytes of {path}]"
    assert set(kept.split("\n")) == {"ünïcode line"}
    assert loaded.files[1].original_bytes == 1500
    assert loaded.total_bytes == sum(len(text.encode()) for text in texts(loaded)) <= 500
    assert loaded.problems == ()


def test_one_long_line_is_cut_on_a_whole_character(tree: Tree) -> None:
    tree.write(tree.root, "a\n" + "語" * 1000)
    (text,) = texts(tree.load(max_bytes=700))
    assert re.fullmatch(r"a\n語+\n\[truncated: kept first \d+ of 3002 bytes of .*\]", text)


def test_a_later_file_is_there_with_its_marker_if_that_fits_and_else_reported(tree: Tree) -> None:
    tree.write(tree.root, "x" * 50 + "\n" + "y" * 2000)
    path = tree.write(tree.cwd, "z" * 3000)
    marker = f"[truncated: kept first 0 of 3000 bytes of {path}]"
    room = 2051 + len(marker.encode()) + 3
    assert texts(tree.load(max_bytes=room))[1] == marker
    loaded = tree.load(max_bytes=2060)
    assert len(loaded.files) == 1
    assert loaded.problems == (f"{path}: left out, 9 of 2060 bytes are left",)


def test_a_small_file_after_a_large_one_is_still_used(tree: Tree) -> None:
    tree.write(tree.root, ("x" * 400 + "\n") * 10)
    tree.write(tree.cwd, "small")
    loaded = tree.load(max_bytes=2_000)
    assert [file.cut for file in loaded.files] == [True, False]


def test_nothing_is_sent_where_nothing_is_allowed(tree: Tree) -> None:
    tree.write(tree.root, "root")
    loaded = tree.load(max_bytes=0)
    assert (loaded.files, loaded.total_bytes, len(loaded.problems)) == ((), 0, 1)


def test_of_a_huge_file_only_the_beginning_is_read(tree: Tree) -> None:
    path = tree.write(tree.root, b"line\n" * 10)
    os.truncate(path, 1 << 32)
    (file,) = tree.load().files
    assert file.original_bytes == 1 << 32
    assert file.cut


characters = st.text(st.sampled_from("ab \né語🙂\ufeff"), max_size=300)


@given(characters, st.integers(0, 400))
def test_a_cut_is_always_within_the_room_and_a_beginning_of_the_text(text: str, room: int) -> None:
    file = fit_instructions(Path("/p/AGENTS.md"), FileText(text, len(text.encode()), ""), room)
    if file is None:
        assert len(text.encode()) > room
        return
    assert len(file.text.encode()) <= room
    assert file.cut == (file.text != text)
    if file.cut:
        body, _, marker = file.text.rpartition("[truncated: kept first ")
        kept = int(marker.split(" ")[0])
        assert text.encode()[:kept].decode() in (body, body.removesuffix("\n"))


@given(
    files=st.lists(st.binary(max_size=120) | characters.map(str.encode), min_size=4, max_size=4),
    limit=st.integers(0, 500),
)
def test_whatever_the_files_hold_the_limit_is_kept_and_every_file_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, files: list[bytes], limit: int
) -> None:
    tree = Tree(tmp_path_factory.mktemp("tree"))
    folders = [tree.config, tree.root, tree.cwd.parent, tree.cwd]
    paths = [tree.write(folder, data) for folder, data in zip(folders, files, strict=True)]
    loaded = tree.load(max_bytes=limit)
    assert loaded.total_bytes == sum(len(text.encode()) for text in texts(loaded)) <= limit
    used = [file.path for file in loaded.files]
    assert used == [path for path in paths if path in used]
    for path, data in zip(paths, files, strict=True):
        empty = not data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").strip()
        reported = any(problem.startswith(f"{path}: left out") for problem in loaded.problems)
        assert [path in used, reported, empty].count(True) == 1
