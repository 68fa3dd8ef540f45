"""The name under which the program is installed, and what to tell users who need more of it."""

from __future__ import annotations

from pathlib import Path

from workbench.config.plugin_entries import found_version

DISTRIBUTION = "context-workbench"
"""On the package index; `workbench` there is another program."""


def package_folder() -> Path:
    """The folder of the package, with its data files."""
    return Path(__file__).parents[1]


def installed_version() -> str:
    """The version of the installed package. Finding it takes some milliseconds."""
    found = found_version(DISTRIBUTION)
    if found is not None:
        return found
    from importlib.metadata import version  # late: it takes longer to import than the folders to be searched

    return version(DISTRIBUTION)


def litellm_version() -> str:
    """The version of litellm, and so of its table of models; empty where it is not installed."""
    found = found_version("litellm")
    if found is not None:
        return found
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("litellm")
    except PackageNotFoundError:
        return ""


def extra_command(extra: str) -> str:
    """The command that installs what an optional part of the program needs."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
