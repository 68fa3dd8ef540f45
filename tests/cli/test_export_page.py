"""`workbench export --html`, as it is called. `tests/views/test_session_page.py` has what is in the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.calls import Call
from support.recordings import readable_files


def test_a_session_and_a_file_become_the_same_page(call: Call, transcript: Path, tmp_path: Path) -> None:
    [made] = call("import", transcript, "--json").json["sessions"]
    pages = []
    for number, source in enumerate((transcript, made["id"])):
        said = call("export", source, "--html", tmp_path / f"{number}.html")
        assert (said.code, said.out, said.err) == (0, "", "")
        pages.append((tmp_path / f"{number}.html").read_text("utf-8"))
    assert all(page.startswith("<!doctype html>") for page in pages)
    assert all("then add it 測試 🙂" in page for page in pages)
    assert str(transcript.parent) not in pages[0], "where the file was is nobody's business"
    assert os.stat(tmp_path / "0.html").st_mode & 0o077 == 0


def test_standard_output_and_one_request(call: Call, transcript: Path) -> None:
    said = call("export", transcript, "--html", "-", "--request", "1")
    assert said.code == 0
    assert "why does the login test fail?" in said.out
    assert "The fixture is missing." not in said.out
    assert call("export", transcript, "--html", "-", "--request", "3").code == 2


def test_secrets_are_masked_and_counted(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_API_KEY", "nothing-like-others")
    text = "use sk-abcdefghijklmnopqrstuvwxyz or nothing-like-others; password=correct-horse-battery"
    file = tmp_path / "t.json"
    file.write_text(json.dumps([{"role": "user", "content": text}]))
    said = call("export", file, "--html", tmp_path / "p.html", "--redact")
    page = (tmp_path / "p.html").read_text()
    assert said.err == "· 3 secrets masked\n"
    assert "use [redacted] or [redacted]; password=[redacted]" in page
    assert not any(secret in page for secret in ("abcdefghij", "nothing-like", "correct-horse"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--request", "1"), "expected --html FILE"),
        (("--html", "p.html", "--format", "openai"), "neither --output nor --format"),
        (("--html", "p.html", "-o", "x"), "neither --output nor --format"),
        (("--html", "nowhere/p.html"), "there is no folder nowhere"),
        (("--html", ""), "expected a file"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    call: Call, transcript: Path, arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(transcript.parent)
    said = call("export", transcript, *arguments)
    assert said.code == 2
    assert says in said.err
    assert not (transcript.parent / "p.html").exists()


def test_a_file_that_is_no_page_stays_as_it_is(call: Call, transcript: Path) -> None:
    before = transcript.read_bytes()
    said = call("export", transcript, "--html", transcript)
    assert said.code == 3
    assert "something else is in this file" in said.err
    assert transcript.read_bytes() == before


def test_a_large_transcript_gives_a_page_that_a_mail_can_hold(tmp_path: Path) -> None:
    large = max(readable_files(".jsonl"), key=lambda file: file.stat().st_size, default=None)
    if large is None or large.stat().st_size < 4_000_000:
        pytest.skip("no large transcript is here")
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "workbench", "export", str(large), "--html", str(page)]
    subprocess.run(command, check=True, timeout=600)
    assert 100_000 < page.stat().st_size < 10_000_000
