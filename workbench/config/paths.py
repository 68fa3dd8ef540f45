"""The folders for the user's settings, the program's data and its cache. Nothing here creates them."""

from __future__ import annotations

import os
from pathlib import Path

_APP = "workbench"
STORE_FILE = "workbench.db"
"""The database of all sessions, in the folder for data."""


def config_dir() -> Path:
    """The folder for what the user writes: config, policies, instructions, preferences."""
    chosen = _chosen("WORKBENCH_CONFIG_DIR")
    if chosen is not None:
        return chosen
    from platformdirs import user_config_path  # late: most commands have the folder in a variable

    return user_config_path(_APP, appauthor=False)


def data_dir() -> Path:
    """The folder for what the program writes: the log and its locks."""
    chosen = _chosen("WORKBENCH_DATA_DIR")
    if chosen is not None:
        return chosen
    from platformdirs import user_data_path  # late: most commands have the folder in a variable

    return user_data_path(_APP, appauthor=False)


def cache_dir() -> Path:
    """The folder for what can be made again. Deleting it loses nothing but time."""
    chosen = _chosen("WORKBENCH_CACHE_DIR")
    if chosen is not None:
        return chosen
    from platformdirs import user_cache_path  # late: most commands have the folder in a variable

    return user_cache_path(_APP, appauthor=False)


def _chosen(variable: str) -> Path | None:
    """The folder named by an environment variable; an empty one counts as not set."""
    value = os.environ.get(variable, "")
    return Path(os.path.expanduser(value)) if value else None
