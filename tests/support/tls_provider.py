"""A provider over TLS on loopback, with an authority of its own that only the test knows."""

from __future__ import annotations

import ssl
from pathlib import Path

from aiohttp import web

from support.provider import Answer, Provider
from workbench.proxy.certificates import Authority, HostCertificates, new_authority


class TlsProvider(Provider):
    """Serves its answers over TLS, under the name `localhost`."""

    def __init__(self, folder: Path, *answers: Answer) -> None:
        super().__init__(*answers)
        self.authority: Authority = new_authority(["localhost"])
        self.authority_file = folder / "provider-ca.pem"
        self.authority_file.write_bytes(self.authority.pem)
        self._context = HostCertificates(self.authority, folder).context_for("localhost")

    async def __aenter__(self) -> TlsProvider:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._context).start()
        self.port = self._runner.addresses[0][1]
        self.url = f"https://localhost:{self.port}/v1"
        return self

    def trust(self) -> ssl.SSLContext:
        """How a client talks that trusts this provider, and nobody else."""
        return ssl.create_default_context(cafile=self.authority_file)
