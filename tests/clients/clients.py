"""Other people's agents: what each is called, how it is pointed at a server, and how it is asked something.

    uv run python tests/clients/clients.py                         which of them are installed
    uv run python tests/clients/clients.py codex URL [PROMPT]      ask one of them, against a server that runs

They are looked for in the folders that `CLIENTS_PATH` names (as in `PATH`), then in `PATH`. Each has a home of its
own, so that nothing of the user's is read or written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

PROMPT = "read a.txt then run ls"
"""What each is asked: two rounds of tools, and an answer."""
WITHIN = 600
"""Seconds, on a busy machine."""


@dataclass(frozen=True)
class Client:
    """One of them. `$URL` is the server's address, `$HOME` the client's home, `$PROMPT` what is asked."""

    name: str
    package: str
    """Where it comes from: npm, or PyPI with `pypi:` in front."""
    binary: str
    dialect: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Below its home: what it is configured with."""
    has_tools: bool = True
    """Whether it gives the model tools to call."""

    def found(self) -> str | None:
        """Where it is installed, if it is."""
        return shutil.which(self.binary, path=search_path())

    def prepare(self, home: Path, url: str) -> dict[str, str]:
        """Write its files; the environment to start it in."""
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(text, URL=url, HOME=str(home)), encoding="utf-8")
        own = {name: _filled(value, URL=url, HOME=str(home)) for name, value in self.environment.items()}
        return {**plain_environment(home), **own}

    def words(self, prompt: str = PROMPT, url: str = "") -> list[str]:
        """The command line for a prompt."""
        return [self.found() or self.binary, *(_filled(word, PROMPT=prompt, URL=url) for word in self.command)]

    def ask(self, url: str, home: Path, folder: Path, prompt: str = PROMPT) -> subprocess.CompletedProcess[str]:
        """Ask it, in a folder, and wait for the answer."""
        return subprocess.run(
            self.words(prompt, url),
            cwd=folder,
            env=self.prepare(home, url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )


def search_path() -> str:
    """Where clients are looked for."""
    return os.pathsep.join(filter(None, (os.environ.get("CLIENTS_PATH"), os.environ.get("PATH"))))


def _filled(text: str, **values: str) -> str:
    return Template(text).safe_substitute(values)


def plain_environment(home: Path) -> dict[str, str]:
    """No keys and no proxies of the user's."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "PATH": search_path(),
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1,localhost",
        "TERM": "dumb",
        "CI": "1",
    }


_PI = """{"providers": {"wb": {"baseUrl": "$URL%s", "apiKey": "any", "api": "%s", "models": [{"id": "rehearsal",
"name": "rehearsal", "contextWindow": 200000, "maxTokens": 8000, "input": ["text"], "reasoning": false,
"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}"""


def _pi(name: str, dialect: str, below: str, api: str) -> Client:
    return Client(
        name,
        "@earendil-works/pi-coding-agent",
        "pi",
        dialect,
        ("--offline", "-p", "--provider", "wb", "--model", "rehearsal", "$PROMPT"),
        files={".pi/agent/models.json": _PI % (below, api)},
    )


_CODEX = """model_provider = "wb"
model = "%s"
[model_providers.wb]
name = "wb"
base_url = "$URL/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
%s
"""


def _codex(name: str, model: str, more: str = "") -> Client:
    return Client(
        name,
        "@openai/codex",
        "codex",
        "responses",
        ("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "$PROMPT"),
        {"CODEX_HOME": "$HOME/.codex", "OPENAI_API_KEY": "any"},
        {".codex/config.toml": _CODEX % (model, more)},
    )


CLIENTS = (
    Client(
        "claude",
        "@anthropic-ai/claude-code",
        "claude",
        "anthropic",
        ("-p", "$PROMPT", "--allowedTools", "Read", "Bash", "Write", "Edit"),
        {
            "ANTHROPIC_BASE_URL": "$URL",
            "ANTHROPIC_API_KEY": "any",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    _codex("codex", "gpt-5.5-codex"),
    _codex("codex-websocket", "gpt-5.5-codex", "supports_websockets = true"),
    _codex("codex-programs", "gpt-6-sol"),
    Client(
        "gemini",
        "@google/gemini-cli",
        "gemini",
        "gemini",
        ("--yolo", "-p", "$PROMPT"),
        {"GOOGLE_GEMINI_BASE_URL": "$URL", "GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
    ),
    Client(
        "qwen",
        "@qwen-code/qwen-code",
        "qwen",
        "chat",
        ("--yolo", "--auth-type", "openai", "-p", "$PROMPT"),
        {"OPENAI_BASE_URL": "$URL/v1", "OPENAI_API_KEY": "any", "OPENAI_MODEL": "rehearsal"},
    ),
    _pi("pi", "chat", "/v1", "openai-completions"),
    _pi("pi-messages", "anthropic", "", "anthropic-messages"),
    _pi("pi-responses", "responses", "/v1", "openai-responses"),
    Client(
        "opencode",
        "opencode-ai",
        "opencode",
        "chat",
        ("run", "--model", "wb/rehearsal", "$PROMPT"),
        {"XDG_CONFIG_HOME": "$HOME/.config", "XDG_DATA_HOME": "$HOME/.local/share"},
        {
            ".config/opencode/opencode.json": """{"provider": {"wb": {"npm": "@ai-sdk/openai-compatible", "name": "wb",
"options": {"baseURL": "$URL/v1", "apiKey": "any"}, "models": {"rehearsal": {"name": "rehearsal"}}}},
"autoupdate": false, "share": "disabled"}"""
        },
    ),
    Client(
        "opencode-openai",
        "opencode-ai",
        "opencode",
        "responses",
        ("run", "--model", "openai/gpt-5.2", "$PROMPT"),
        {"XDG_CONFIG_HOME": "$HOME/.config", "XDG_DATA_HOME": "$HOME/.local/share", "OPENAI_API_KEY": "any"},
        {
            ".config/opencode/opencode.json": """{"provider": {"openai": {"options": {"baseURL": "$URL/v1",
"apiKey": "any"}, "models": {"gpt-5.2": {"name": "gpt-5.2"}}}}, "autoupdate": false, "share": "disabled"}"""
        },
    ),
    Client(
        "copilot",
        "@github/copilot",
        "copilot",
        "chat",
        ("--allow-all-tools", "--model", "rehearsal", "-p", "$PROMPT"),
        {
            "COPILOT_PROVIDER_BASE_URL": "$URL/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "any",
            "COPILOT_MODEL": "rehearsal",
        },
    ),
    Client(
        "kimi",
        "@moonshot-ai/kimi-code",
        "kimi",
        "chat",
        ("-p", "$PROMPT"),
        files={
            ".kimi-code/config.toml": """default_model = "wb"
[providers.wb]
type = "openai"
base_url = "$URL/v1"
api_key = "any"
[models.wb]
provider = "wb"
model = "rehearsal"
max_context_size = 200000
"""
        },
    ),
    Client(
        "aider",
        "pypi:aider-chat",
        "aider",
        "chat",
        (
            *("--model", "openai/rehearsal", "--no-git", "--yes-always"),
            *("--no-check-update", "--analytics-disable", "--message", "$PROMPT"),
        ),
        {"OPENAI_API_BASE": "$URL/v1", "OPENAI_API_KEY": "any"},
        has_tools=False,
    ),
    Client(
        "llm",
        "pypi:llm",
        "llm",
        "chat",
        ("-m", "rehearsal", "$PROMPT"),
        {"OPENAI_API_KEY": "any", "LLM_USER_PATH": "$HOME/llm"},
        {
            "llm/extra-openai-models.yaml": """- model_id: rehearsal
  model_name: rehearsal
  api_base: "$URL/v1"
"""
        },
        has_tools=False,
    ),
    Client(
        "mini-swe-agent",
        "pypi:mini-swe-agent",
        "mini",
        "chat",
        (
            *("-y", "--exit-immediately", "-m", "openai/rehearsal"),
            # It puts a sentence before the task, and ends with a command that says so.
            *("-t", "\n$PROMPT then run `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`\n"),
        ),
        {
            "OPENAI_API_BASE": "$URL/v1",
            "OPENAI_API_KEY": "any",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        },
    ),
)
BY_NAME = {client.name: client for client in CLIENTS}


def main(words: list[str]) -> int:
    """List them, or ask one."""
    match words:
        case [name, url, *prompt]:
            with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "a.txt").write_text("The first line of a.txt\n", encoding="utf-8")
                done = BY_NAME[name].ask(url, Path(home), Path(folder), " ".join(prompt) or PROMPT)
                print(done.stdout, done.stderr, sep="\n")
                return done.returncode
    for client in CLIENTS:
        print(f"{client.name:16} {client.package:34} {client.found() or 'not installed'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
