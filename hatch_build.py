"""Adds to the package's metadata what depends on the address of the repository: links, and those in the README.

On a package index a path such as `docs/keys.md` leads nowhere: it becomes an address, with the tag of this version.
GitHub Actions says where the repository is; elsewhere `WORKBENCH_REPOSITORY` does. Without an address nothing changes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PATH = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)]+)\)")
"""A link or a picture with a path in the repository."""


class CustomMetadataHook(MetadataHookInterface):
    """Sets the fields that `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = _repository()
        if address:
            tag = f"v{metadata['version']}"
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{address}/blob/{tag}/docs/README.md",
                "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            readme = with_addresses(readme, address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def with_addresses(text: str, address: str, tag: str) -> str:
    """A page in which every path is an address. A picture is the file itself, a link shows the page."""

    def changed(found: re.Match[str]) -> str:
        picture, words, path = found.groups()
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return PATH.sub(changed, text)


def _repository() -> str:
    server, name = os.environ.get("GITHUB_SERVER_URL", ""), os.environ.get("GITHUB_REPOSITORY", "")
    here = f"{server}/{name}" if server and name else ""
    return os.environ.get("WORKBENCH_REPOSITORY", here).rstrip("/")
