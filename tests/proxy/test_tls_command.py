"""`workbench proxy --tls` as a command: what it prints and sets, what it verifies, and what it deletes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proxy.commands import started
from proxy.test_running_proxy import MANY_RESULTS
from proxy.test_server import WHOLE
from support.calls import Outcome
from support.provider import Answer
from support.tls_provider import TlsProvider
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.config.paths import data_dir
from workbench.log.store import Store
from workbench.proxy.authority_files import AuthorityFiles
from workbench.proxy.certificates import find_authority, new_authority
from workbench.proxy.trusted_files import forward_environment

FINE = Answer(body=WHOLE, content_type="application/json")
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}]})
WITH_URLLIB = f"""
import sys, urllib.error, urllib.request
asked = urllib.request.Request(sys.argv[1], {BODY!r}.encode(), {{"Content-Type": "application/json"}})
try:
    print(urllib.request.urlopen(asked).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
WITH_THE_SDK = """
from openai import OpenAI
asked = OpenAI(api_key="any", max_retries=0).chat.completions.create(
    model="m", messages=[{"role": "user", "content": "hello there"}]
)
print(asked.choices[0].message.content)
"""


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


RunTls = Callable[..., Outcome]


@pytest.fixture
def run_tls(capfd: pytest.CaptureFixture[str]) -> RunTls:
    """Run it in this process, up to the end of its agent."""

    def run(*arguments: str) -> Outcome:
        code = main(["proxy", "--tls", *arguments])
        return Outcome(code, *capfd.readouterr())

    return run


def titles(folder: Path) -> list[str]:
    with Store.open(folder / "data" / "workbench.db") as store:
        return [info.title for info in store.list()]


@pytest.mark.long
def test_a_sdk_in_the_agent_passes_and_is_recorded(tmp_path: Path, run_tls: RunTls) -> None:
    outcome = run_tls("--to", "rehearsal", "--", sys.executable, "-c", WITH_THE_SDK)
    assert outcome.code == 0, outcome.err
    address, about, *answer = outcome.out.splitlines()
    assert address.startswith("http://workbench:")
    assert "Set for the agent alone: " in about
    assert "rehearsal" in " ".join(answer)
    assert titles(tmp_path) == ["hello there"]
    assert "made a certificate authority, as there was none" in outcome.err
    assert not list((tmp_path / "data").glob("proxy-*"))


@pytest.mark.long
def test_a_policy_changes_what_passes(tmp_path: Path, run_tls: RunTls) -> None:
    knobs = ("--policy", "layers", "--set", "masking.keep_first=0", "--set", "masking.keep_last=2")
    agent = f"import os; os.environ['OPENAI_BASE_URL'] = 'https://api.openai.com/v1'\n{MANY_RESULTS}"
    outcome = run_tls("--to", "rehearsal", *knobs, "--", sys.executable, "-c", agent)
    assert outcome.code == 0, outcome.err
    assert "policy layers masking.keep_first=0 masking.keep_last=2: masks results of tools" in outcome.out
    assert "the policy masked or cut 4 results in 1 batch; 1 request changed\n" in outcome.err
    assert titles(tmp_path) == ["look"]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_passes_and_is_recorded(tmp_path: Path, run_tls: RunTls) -> None:
    url = "https://api.mistral.ai/v1/chat/completions"
    outcome = run_tls("--to", "rehearsal", "--", "curl", "-sS", "-d", BODY, url)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out.splitlines()[2])["choices"]
    assert titles(tmp_path) == ["hello there"]


@pytest.mark.long
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_the_certificate_of_the_provider_is_verified(
    is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TlsProvider(tmp_path, FINE) as provider:
        if is_trusted:  # as a user trusts the authority of a company
            monkeypatch.setenv("SSL_CERT_FILE", str(provider.authority_file))
        url = f"https://localhost:{provider.port}/v1/chat/completions"
        code = f"import os; [os.environ.pop(name) for name in ('NO_PROXY', 'no_proxy')]\n{WITH_URLLIB}"
        host = f"localhost:{provider.port}"
        with started(tmp_path, "--tls", "--tls-host", host, "--", sys.executable, "-c", code, url) as process:
            out, errors = await asyncio.to_thread(process.communicate, timeout=GIVE_UP)
        assert process.returncode == 0, errors
        answer = out.splitlines()[2:]
        if is_trusted:
            assert "\n".join(answer) == WHOLE.decode()
            assert titles(tmp_path) == ["hello there"]
        else:
            [line] = answer
            assert line.startswith("502 ")
            assert "CERTIFICATE_VERIFY_FAILED" in line
            assert provider.requests == []


@pytest.mark.long
def test_json_says_what_clients_need_and_a_signal_ends_it(tmp_path: Path) -> None:
    with started(tmp_path, "--tls", "--tls-host", "LLM.example:8443", "--to", "rehearsal", "--json") as process:
        assert process.stdout is not None
        tls = json.loads(process.stdout.readline())["tls"]
        assert {"api.openai.com:443", "api.anthropic.com:443", "llm.example:8443"} <= set(tls["hosts"])
        assert tls["environment"]["HTTPS_PROXY"] == tls["address"]
        trust = ssl.create_default_context(cafile=tls["authority"])
        handlers = (urllib.request.ProxyHandler({"https": tls["address"]}), urllib.request.HTTPSHandler(context=trust))
        asked = urllib.request.Request("https://api.openai.com/v1/chat/completions", BODY.encode())
        with urllib.request.build_opener(*handlers).open(asked, timeout=GIVE_UP) as came:
            assert json.load(came)["choices"]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=GIVE_UP)
        assert process.returncode == 0


@pytest.mark.long
def test_an_agent_that_asks_no_provider_is_reported(run_tls: RunTls) -> None:
    outcome = run_tls("--", sys.executable, "-c", "")
    assert "passed here, and nothing was recorded: it may have asked no model, or not read HTTPS_PROXY" in outcome.err


def test_the_authority_is_removed_and_the_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    files = AuthorityFiles()
    find_authority(files, ["api.openai.com"])
    assert main(["proxy", "--tls-remove"]) == 0
    assert capsys.readouterr().out == f"deleted {files.private}\ndeleted {files.public}\n"
    assert list((data_dir() / "tls").iterdir()) == []
    assert main(["proxy", "--tls-remove"]) == 0
    assert capsys.readouterr().out == f"nothing to delete: no certificate authority in {files.folder}\n"
    assert main(["proxy", "--tls-remove", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "deleted": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tls-host", "api.example.org"], "--tls-host: expected --tls with it"),
        (
            ["--tls", "--tls-host", "https://x.example"],
            "expected the name of a host, as in api.example.org or llm.local:8443",
        ),
        (["--tls", "--tls-host", "10.0.0.1"], "expected the name of a host"),
        (["--tls", "--tls-host", "x.example:0"], "expected the name of a host"),
        (["--tls", "--tls-host", "*.example"], "expected the name of a host"),
        (["--tls", "--tls-host", "a\x1b[31m"], "expected the name of a host"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert "\x1b" not in said


def test_without_the_package_one_line_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["proxy", "--tls"]) == 2
    line = "--tls: expected the package cryptography; pip install 'context-workbench[tls]' brings it\n"
    assert capsys.readouterr().err.endswith(line)


def pems(file: str) -> int:
    return Path(file).read_bytes().count(b"BEGIN CERTIFICATE")


def test_certificates_that_the_user_named_stay_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, ours = new_authority(["own.example"]).pem, new_authority(["api.openai.com"]).pem
    (tmp_path / "own.pem").write_bytes(own.rstrip())
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"):
        monkeypatch.setenv(name, str(tmp_path / "own.pem"))
    made = forward_environment("http://127.0.0.1:1", ours, tmp_path / "made")
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"):
        assert Path(made[name]).read_bytes() == own + ours
        assert stat.S_IMODE(os.stat(made[name]).st_mode) == 0o600
    assert (tmp_path / "own.pem").read_bytes() == own.rstrip()


def test_without_any_the_certificates_of_the_system_stay_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = new_authority(["api.openai.com"]).pem
    monkeypatch.delenv("SSL_CERT_FILE")
    made: dict[str, Any] = forward_environment("http://127.0.0.1:1", ours, tmp_path)
    assert Path(made["NODE_EXTRA_CA_CERTS"]).read_bytes() == ours
    assert pems(made["SSL_CERT_FILE"]) > 20
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    made = forward_environment("http://127.0.0.1:1", ours, tmp_path / "more")
    assert pems(made["SSL_CERT_FILE"]) > 20
    assert not {"CODEX_CA_CERTIFICATE", "DENO_CERT", "HTTP_PROXY"} & made.keys()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_reads_the_authority() -> None:
    files = AuthorityFiles()
    find_authority(files, ["api.openai.com"])
    shown = subprocess.run(
        ["openssl", "x509", "-in", str(files.public), "-noout", "-text"], capture_output=True, text=True, check=True
    ).stdout
    for each in ("Name Constraints: critical", "DNS:api.openai.com", "IP:0.0.0.0/0.0.0.0", "prime256v1"):
        assert each in shown
