"""What the words on the command line mean."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.lab.running.corpus import CorpusEntry, find_corpus
from workbench.log.events import UserMessage
from workbench.sources.services import Services

TALK = json.dumps([{"role": "user", "content": "hello"}])


def refs(*words: str) -> list[str]:
    with Services() as services:
        return [entry.ref for entry in find_corpus(words, services)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Transcripts beside files that are none."""
    inside = tmp_path / "runs"
    for name in ("b.json", "deep/er/a.jsonl", ".git/c.json", "node_modules/d.json"):
        path = inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TALK)
    (inside / "notes.txt").write_text("hello")
    (inside / ".aider.chat.history.md").write_text(
        "\n# aider chat started at 2026-01-01 10:00:00\n\n#### hello\n\nyes\n"
    )
    sqlite3.connect(inside / "log.db").execute("CREATE TABLE a (b)").connection.close()
    return inside


def test_a_folder_is_all_that_may_be_a_transcript_in_it_and_below(folder: Path) -> None:
    names = [".aider.chat.history.md", "b.json", "log.db", "deep/er/a.jsonl"]
    assert refs(str(folder)) == [str(folder / name) for name in names]


def test_what_lies_in_a_folder_need_not_be_a_transcript_and_what_is_named_must(folder: Path) -> None:
    path = str(folder / "b.json")
    with Services() as services:
        assert find_corpus([path], services) == [CorpusEntry(path, is_guess=False)]
        assert CorpusEntry(path, is_guess=True) in find_corpus([str(folder)], services)


def test_a_pattern_is_the_files_that_fit_it(folder: Path) -> None:
    assert refs(f"{folder}/**/*.json*") == sorted(
        str(folder / name) for name in ("b.json", "deep/er/a.jsonl", ".git/c.json", "node_modules/d.json")
    )
    with pytest.raises(WrongCall, match=r"\*\.none: no file fits"):
        refs(f"{folder}/*.none")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].json").write_text(TALK)
    assert refs(f"{tmp_path}/a[1].json") == [f"{tmp_path}/a[1].json"]


def test_what_several_words_find_is_there_once(folder: Path) -> None:
    assert len(refs(str(folder), f"{folder}/*.json", str(folder / "deep"))) == 4


def test_a_file_that_is_named_again_is_there_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(folder / "b.json")
    assert len(refs(str(folder), file)) == len(refs(str(folder)))
    assert refs(file, file, f"{folder}/deep/../b.json") == [file], "as it was named first"
    assert refs(f"{file}#1", f"{file}#2", f"{file}#1") == [f"{file}#1", f"{file}#2"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{file}\n{file}\n"))
    assert refs("-") == [file]


def test_a_file_is_there_once_whatever_link_leads_to_it(folder: Path) -> None:
    file, link = folder / "b.json", folder.parent / "link.json"
    link.symlink_to(file)
    assert refs(str(file), str(link)) == [str(file)]
    assert refs(f"{link}#1", f"{file}#1") == [f"{link}#1"]


def test_a_conversation_of_a_file_that_is_there_is_not_named_again(folder: Path) -> None:
    file = str(folder / "b.json")
    assert refs(f"{file}#1", file, f"{file}#2") == [file]
    with Services() as services:
        assert CorpusEntry(file, is_guess=False) in find_corpus([str(folder), f"{file}#1"], services)


def test_links_that_lead_out_of_the_project_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    for path in (project / ".git", project / "runs"):
        path.mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text(TALK)
    (project / "runs/link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    monkeypatch.chdir(project)
    assert refs("runs") == refs(".") == refs(str(project)) == []


def test_a_home_in_quotes_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert refs("~/runs/deep", "~/runs/b.json") == [str(folder / "deep/er/a.jsonl"), str(folder / "b.json")]
    assert refs("~/nothing") == ["~/nothing"]


def test_an_empty_name_is_told() -> None:
    with pytest.raises(WrongCall, match="empty name"):
        refs("")


def test_a_list_on_standard_input_has_such_words_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{folder}/b.json\n\n  {folder}/deep  \nsome session#2\n"))
    assert refs("-", "last") == [f"{folder}/b.json", f"{folder}/deep/er/a.jsonl", "some session#2", "last"]
    monkeypatch.setattr("sys.stdin", io.StringIO("-\n"))
    with pytest.raises(WrongCall, match="standard input"):
        refs("-")


def test_agents_are_the_sessions_of_other_agents_here(tmp_path: Path) -> None:
    path = tmp_path / "home/.claude/projects/-work/0f9ff38e-5a3b-4a69-9a1a-3d6b0d0d3c11.jsonl"
    path.parent.mkdir(parents=True)
    said = {"type": "user", "uuid": "u1", "cwd": "/work", "message": {"role": "user", "content": "hello"}}
    path.write_text(json.dumps(said) + "\n")
    assert refs("agents") == [f"{path}#1"]


def test_sessions_are_all_of_our_own(services: Services) -> None:
    with services.store.create() as session:
        session.append(UserMessage("hello"))
    assert refs("sessions") == [session.id]
