"""What a client needs to use the forward proxy: variables, and files with the certificates that it is to trust.

They are for the agent that is started, or for a shell in which the user sets them. The system's own store of trusted
certificates is never changed.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Final

from workbench.config.foreign_files import read_regular_file
from workbench.config.writing import replace_file
from workbench.proxy.launch import local_exceptions

_ADDED: Final = "NODE_EXTRA_CA_CERTS"
"""Node trusts these in addition to its own."""
_COMPLETE: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Programs trust only the certificates in these files."""
_IF_SET: Final = ("CODEX_CA_CERTIFICATE", "AWS_CA_BUNDLE", "DENO_CERT")
"""More such variables, which are changed only where the user has set them: without them others are used."""


def forward_environment(address: str, authority: bytes, folder: Path) -> dict[str, str]:
    """The variables that send a program's HTTPS through the proxy at `address`. `folder`: a private one, for the files.

    A variable that is set already keeps the certificates that it names: ours are added to a copy.
    """
    files = {name: folder / f"{name.lower()}.pem" for name in (_ADDED, *_COMPLETE, *filter(os.environ.get, _IF_SET))}
    for name, file in files.items():
        replace_file(file, _named_certificates(name) + authority)
    return {
        "HTTPS_PROXY": address,
        "https_proxy": address,
        "NODE_USE_ENV_PROXY": "1",
        **{name: str(file) for name, file in files.items()},
        **local_exceptions(),
    }


def _named_certificates(variable: str) -> bytes:
    """The certificates in the file that a variable names; without one, those that the system trusts."""
    try:
        return read_regular_file(os.environ[variable]).rstrip() + b"\n"
    except (KeyError, OSError):
        return b"" if variable == _ADDED else _system_certificates()


def _system_certificates() -> bytes:
    found = ssl.create_default_context().get_ca_certs(binary_form=True)
    if found:
        return "".join(map(ssl.DER_cert_to_PEM_cert, found)).encode()
    import certifi  # where the system has no such file; httpx brings it

    return read_regular_file(certifi.where())
