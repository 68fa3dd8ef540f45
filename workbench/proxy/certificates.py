"""The certificate authority of the forward proxy, and the certificates that it signs.

The authority is made when it is first needed, and kept in the data folder. It may sign only for the hosts that are
opened: a program that trusts it believes it about no other host, even if its key is stolen.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from workbench.config.errors import WorkbenchError
from workbench.config.foreign_files import read_regular_file
from workbench.config.writing import replace_file
from workbench.proxy.authority_files import REMOVE, AuthorityFiles

AUTHORITY_DAYS: Final = 365
REMAKE_DAYS: Final = 14
"""An authority that ends sooner is replaced."""
LEAF_DAYS: Final = 7
LEAST_DAYS: Final = 1
"""A host's certificate that ends sooner is replaced."""
_EARLIER: Final = timedelta(days=1)
"""Certificates are valid from a day ago on, because clocks differ."""


class Authority(NamedTuple):
    """A certificate that signs others, and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        """The certificate, for programs that are to trust it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts for which it may sign."""
        found = self.certificate.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees
        return frozenset(each.value for each in found or () if isinstance(each, x509.DNSName))

    @property
    def last_day(self) -> str:
        return f"{self.certificate.not_valid_after_utc:%Y-%m-%d}"


class FoundAuthority(NamedTuple):
    """The authority of the data folder."""

    authority: Authority
    made_because: str = ""
    """Why it was made just now; empty if it was found."""


def find_authority(files: AuthorityFiles, hosts: Iterable[str]) -> FoundAuthority:
    """The authority in the data folder. One is made if it is missing, ends soon, or may not sign for all `hosts`.

    Raises WorkbenchError if it cannot be read or written.
    """
    wanted = frozenset(hosts)
    with files.locked():
        before = _read_authority(files)
        if before is None:
            why = "there was none"
        elif _days_left(before.certificate) < REMAKE_DAYS:
            why = f"the last one ends on {before.last_day}"
        elif missing := wanted - before.hosts:
            why = f"the last one may not sign for {', '.join(sorted(missing))}"
        else:
            files.write_public(before.pem)
            return FoundAuthority(before)
        made = new_authority(wanted | (before.hosts if before is not None else frozenset()))
        replace_file(files.private, _key_pem(made.key) + made.pem)
        files.write_public(made.pem)
        return FoundAuthority(made, why)


def new_authority(hosts: Iterable[str]) -> Authority:
    """Make an authority that may sign for these hosts and the names below them, and for no address in numbers."""
    key = ec.generate_private_key(ec.SECP256R1())
    common = f"Workbench proxy, this machine only, {secrets.token_hex(4)}"
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    permitted = [x509.DNSName(host) for host in sorted(set(hosts))]
    excluded = [x509.IPAddress(ip_network(every)) for every in ("0.0.0.0/0", "::/0")]
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _unsigned(name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, excluded), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


class HostCertificates:
    """Certificates for the hosts that are opened. They stay in memory."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        """`folder`: a private one, where a certificate is for a moment, because Python reads it from a file."""
        self._authority = authority
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._made: dict[str, tuple[x509.Certificate, ssl.SSLContext]] = {}

    def context_for(self, host: str) -> ssl.SSLContext:
        """How a client of this host is talked to."""
        if host not in self._made or _days_left(self._made[host][0]) < LEAST_DAYS:
            certificate = self._signed(host)
            self._made[host] = certificate, self._context(certificate)
        return self._made[host][1]

    def _signed(self, host: str) -> x509.Certificate:
        issuer = self._authority.certificate
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Workbench proxy")])
        identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        days = min(LEAF_DAYS, _days_left(issuer))
        return (
            _unsigned(name, issuer.subject, self._key.public_key(), days)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
            .sign(self._authority.key, hashes.SHA256())
        )

    def _context(self, certificate: x509.Certificate) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        file = self._folder / f"{secrets.token_hex(8)}.pem"
        try:
            replace_file(file, _key_pem(self._key) + certificate.public_bytes(serialization.Encoding.PEM))
            context.load_cert_chain(file)
        finally:
            file.unlink(missing_ok=True)
        return context


def _unsigned(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    usage = partial(
        x509.KeyUsage,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    return usage(digital_signature=not signs_certificates, key_cert_sign=signs_certificates)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _days_left(certificate: x509.Certificate) -> float:
    return (certificate.not_valid_after_utc - datetime.now(UTC)) / timedelta(days=1)


def _read_authority(files: AuthorityFiles) -> Authority | None:
    """The authority of the data folder; None if there is none."""
    try:
        data = read_regular_file(files.private, follow_links=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkbenchError(f"{files.private}: cannot be read: {error.strerror or error}") from error
    files.check_private()
    with suppress(ValueError, TypeError, x509.ExtensionNotFound):
        certificate, key = x509.load_pem_x509_certificate(data), serialization.load_pem_private_key(data, None)
        if isinstance(key, ec.EllipticCurvePrivateKey) and certificate.public_key() == key.public_key():
            found = Authority(certificate, key)
            if found.hosts:
                return found
    raise WorkbenchError(f"{files.private}: expected a key and its certificate; {REMOVE} deletes it")
