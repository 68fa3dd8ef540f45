"""What is written for the user to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.log.codec import encode_event
from workbench.log.events import Event, UserMessage
from workbench.proxy.redaction import Redactor
from workbench.session.reports import write_export, write_new


@pytest.mark.parametrize("name", ["x" * 400, "x" * 400 + "/log.jsonl", "a\0b", "a\0b/log.jsonl"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongCall, match=r"cannot be written|there is no folder"):
        write_new(tmp_path / name, "{}")


@pytest.mark.parametrize("redactor", [None, Redactor()])
def test_a_log_is_exported_as_messages_or_as_lines(tmp_path: Path, redactor: Redactor | None) -> None:
    """Letters are written as they are, and the size is that of the file."""
    log = [Event(1, "a", 5, UserMessage("Grüße aus Köln"))]
    size = write_export(log, tmp_path / "log.json", redactor)
    text = (tmp_path / "log.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "messages": [\n    {\n      "role": "user",\n      "content": "Grüße aus Köln"\n    }')
    assert text.endswith("}\n")
    assert size == len(text.encode())
    write_export(log, tmp_path / "log.jsonl", redactor)
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8") == f"{encode_event(log[0])}\n"


def test_an_exported_log_has_no_secrets(tmp_path: Path) -> None:
    key = "sk-" + "a1B2c3D4" * 5
    log = [Event(1, "a", 5, UserMessage(f"my key is {key}"))]
    for name in ("log.json", "log.jsonl"):
        write_export(log, tmp_path / name, Redactor())
        assert key not in (tmp_path / name).read_text(encoding="utf-8")
