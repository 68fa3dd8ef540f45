"""The authority of the forward proxy: for this user alone, for these hosts alone, and for a limited time."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509

from workbench.config.errors import WorkbenchError
from workbench.config.paths import data_dir
from workbench.proxy import authority_files, certificates
from workbench.proxy.authority_files import AuthorityFiles
from workbench.proxy.certificates import HostCertificates, find_authority, new_authority

HOSTS = {"api.openai.com", "api.anthropic.com"}


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    return AuthorityFiles(tmp_path / "deep" / "tls")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_in_the_data_folder_for_this_user_alone() -> None:
    before = os.umask(0)
    try:
        find_authority(AuthorityFiles(), HOSTS)
    finally:
        os.umask(before)
    folder = data_dir() / "tls"
    assert {each.name: mode(each) for each in folder.iterdir()} == {"authority.pem": 0o600, "ca.pem": 0o600}
    assert mode(folder) == 0o700
    assert b"PRIVATE" in (folder / "authority.pem").read_bytes()
    assert b"PRIVATE" not in (folder / "ca.pem").read_bytes()


def test_it_is_made_once(files: AuthorityFiles) -> None:
    first, second = find_authority(files, HOSTS), find_authority(files, HOSTS)
    assert first.made_because == "there was none"
    assert second.made_because == ""
    assert first.authority.pem == second.authority.pem == files.public.read_bytes()


def test_proxies_that_start_together_have_the_same_one(files: AuthorityFiles) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: find_authority(files, HOSTS), range(8)))
    assert len({each.authority.pem for each in found}) == 1
    assert [each.made_because for each in found].count("there was none") == 1


def test_another_host_needs_a_new_one_that_keeps_the_hosts_of_the_last(files: AuthorityFiles) -> None:
    find_authority(files, HOSTS)
    wider = find_authority(files, {"llm.example"})
    assert wider.made_because == "the last one may not sign for llm.example"
    assert wider.authority.hosts == {*HOSTS, "llm.example"}
    assert find_authority(files, HOSTS).made_because == ""


def test_one_that_ends_soon_is_replaced(files: AuthorityFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(certificates, "AUTHORITY_DAYS", certificates.REMAKE_DAYS - 1)
        last = find_authority(files, HOSTS).authority
    assert find_authority(files, HOSTS).made_because == f"the last one ends on {last.last_day}"
    assert find_authority(files, HOSTS).made_because == ""


@pytest.mark.parametrize("broken", [b"", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n"])
def test_a_broken_file_is_named_with_what_to_do(broken: bytes, files: AuthorityFiles) -> None:
    find_authority(files, HOSTS)
    files.private.write_bytes(broken)
    with pytest.raises(WorkbenchError, match=r"authority\.pem: expected a key .* --tls-remove deletes it"):
        find_authority(files, HOSTS)
    assert files.remove() == [files.private, files.public]
    assert find_authority(files, HOSTS).made_because == "there was none"


def test_a_key_and_a_certificate_that_do_not_belong_together_are_refused(files: AuthorityFiles) -> None:
    key = files.private
    find_authority(files, HOSTS)
    foreign = new_authority(HOSTS).pem
    key.write_bytes(key.read_bytes().partition(b"-----BEGIN CERT")[0] + foreign)
    with pytest.raises(WorkbenchError, match="expected a key and its certificate"):
        find_authority(files, HOSTS)


def test_a_key_that_others_may_read_is_refused(files: AuthorityFiles) -> None:
    find_authority(files, HOSTS)
    files.private.chmod(0o640)
    with pytest.raises(WorkbenchError, match="other users may read this key"):
        find_authority(files, HOSTS)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WorkbenchError, match=r"tls: cannot be written: Not a directory"):
        find_authority(AuthorityFiles(tmp_path / "file" / "tls"), HOSTS)


def test_a_folder_that_another_proxy_holds_is_named_with_the_time(
    files: AuthorityFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authority_files, "_SECONDS", 0.02)
    told = f"{files.folder}: another proxy still holds it after 0.02 s"
    with files.locked(), pytest.raises(WorkbenchError, match=f"^{re.escape(told)}$"):
        find_authority(AuthorityFiles(files.folder), HOSTS)


def test_a_pipe_in_the_place_of_the_key_blocks_nothing(files: AuthorityFiles) -> None:
    files.folder.mkdir(parents=True)
    os.mkfifo(files.private)
    with pytest.raises(WorkbenchError, match="this is a pipe"):
        find_authority(files, HOSTS)


def test_its_certificate_says_what_it_may_do() -> None:
    found = new_authority(HOSTS).certificate.extensions
    assert found.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    usage = found.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.digital_signature, usage.crl_sign) == (True, False, False)
    constraints = found.get_extension_for_class(x509.NameConstraints)
    assert [each.oid for each in found if not each.critical] == [x509.SubjectKeyIdentifier.oid]
    assert {each.value for each in constraints.value.permitted_subtrees or ()} == HOSTS


async def handshake(context: ssl.SSLContext, trust: ssl.SSLContext, name: str) -> str:
    """Why a client refuses a server under a name; empty if it does not."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust, server_hostname=name)
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        writer.close()
        return ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("api.openai.com", ""),
        ("eu.api.openai.com", ""),
        ("openai.com", "permitted subtree violation"),
        ("bank.example", "permitted subtree violation"),
        ("api.openai.com.bank.example", "permitted subtree violation"),
    ],
)
@pytest.mark.parametrize("strict", [0, ssl.VERIFY_X509_STRICT])
async def test_clients_believe_it_about_its_hosts_alone(name: str, why: str, strict: int, tmp_path: Path) -> None:
    authority = new_authority(HOSTS)
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    trust.verify_flags |= strict
    assert await handshake(HostCertificates(authority, tmp_path).context_for(name), trust, name) == why
    assert list(tmp_path.iterdir()) == []  # the key was in a file for a moment only


def test_a_certificate_is_kept_until_its_last_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = HostCertificates(new_authority(HOSTS), tmp_path)
    first = made.context_for("api.openai.com")
    assert made.context_for("api.openai.com") is first
    monkeypatch.setattr(certificates, "LEAST_DAYS", certificates.LEAF_DAYS + 1)
    assert made.context_for("api.openai.com") is not first
