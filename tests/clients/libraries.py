"""Libraries that agents are built with, each in a small program of `scripts/`.

A library is looked for in the folders that `CLIENTS_PATH` names, as clients are: in the Python environment whose `bin`
is one of them, or among the packages whose `.bin` is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clients.clients import CLIENTS, PROMPT, WITHIN, Client, plain_environment, search_path

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Library:
    """One of them, with the same interface as a `Client`."""

    name: str
    package: str
    module: str
    """The folder that it is installed as."""
    script: str
    dialect: str
    more: tuple[str, ...] = ()
    """Arguments behind the prompt."""
    environment: Mapping[str, str] = field(default_factory=dict)
    has_tools: bool = True
    binary: str = ""

    def found(self) -> str | None:
        """The program that runs the script, where the library is installed."""
        for folder in map(Path, os.environ.get("CLIENTS_PATH", "").split(os.pathsep)):
            if self.script.endswith(".mjs"):
                if folder.name == ".bin" and (folder.parent / self.module).is_dir():
                    return shutil.which("node", path=search_path())
            elif list(folder.parent.glob(f"lib/python*/site-packages/{self.module}")):
                return str(folder / "python")
        return None

    def ask(self, url: str, home: Path, folder: Path, prompt: str = PROMPT) -> subprocess.CompletedProcess[str]:
        """Run the script, in a folder, and wait for its end."""
        script = SCRIPTS / self.script
        if self.script.endswith(".mjs"):  # which finds packages only in a folder above itself
            script = home / self.script
            shutil.copy(SCRIPTS / self.script, script)
            packages = next(
                Path(each).parent
                for each in search_path().split(os.pathsep)
                if (Path(each).parent / self.module).is_dir()
            )
            (home / "node_modules").symlink_to(packages)
        return subprocess.run(
            [self.found() or "", str(script), prompt, *self.more],
            cwd=folder,
            env={**plain_environment(home), **addresses(url), **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )


def addresses(url: str) -> dict[str, str]:
    """The variables that a library reads, as `workbench proxy --` sets them, and keys."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_BASE": f"{url}/v1beta",
        "ANTHROPIC_API_KEY": "any",
        "OPENAI_API_KEY": "any",
        "GOOGLE_API_KEY": "any",
        "GOOGLE_GENERATIVE_AI_API_KEY": "any",
    }


def _vercel(provider: str, dialect: str, model: str) -> Library:
    return Library(
        f"vercel-{provider}", f"@ai-sdk/{provider}", f"@ai-sdk/{provider}", "vercel.mjs", dialect, (provider, model)
    )


LIBRARIES = (
    _vercel("anthropic", "anthropic", "claude-sonnet-4-5"),
    _vercel("openai", "responses", "gpt-5"),
    _vercel("google", "gemini", "gemini-2.5-pro"),
    # It sends calls and results in words, in which the rehearsal model does not recognise them.
    Library("smolagents", "pypi:smolagents[openai]", "smolagents", "smolagents_agent.py", "chat", has_tools=False),
    Library(
        "crewai",
        "pypi:crewai",
        "crewai",
        "crewai_crew.py",
        "chat",
        environment={
            "CREWAI_DISABLE_TELEMETRY": "true",
            "OTEL_SDK_DISABLED": "true",
            "CREWAI_TRACING_ENABLED": "false",
        },
    ),
    Library("openai-responses", "pypi:openai", "openai", "openai_responses.py", "responses"),
    Library("openai-agents", "pypi:openai-agents", "agents", "openai_agents.py", "responses"),
    Library("google-genai", "pypi:google-genai", "google/genai", "genai.py", "gemini"),
    Library("gemini-as-openai", "pypi:openai", "openai", "gemini_as_openai.py", "chat", has_tools=False),
    Library(
        "langchain-openai",
        "pypi:langchain-openai",
        "langchain_openai",
        "langchain_agent.py",
        "chat",
        ("openai:rehearsal",),
    ),
    Library(
        "langchain-anthropic",
        "pypi:langchain-anthropic",
        "langchain_anthropic",
        "langchain_agent.py",
        "anthropic",
        ("anthropic:rehearsal",),
    ),
    Library("pydantic-ai", "pypi:pydantic-ai", "pydantic_ai", "pydantic_agent.py", "chat", ("openai-chat:rehearsal",)),
    Library(
        "pydantic-ai-anthropic",
        "pypi:pydantic-ai",
        "pydantic_ai",
        "pydantic_agent.py",
        "anthropic",
        ("anthropic:rehearsal",),
    ),
    Library("instructor", "pypi:instructor", "instructor", "instructor_model.py", "chat", has_tools=False),
    Library("litellm", "pypi:litellm", "litellm", "litellm_completion.py", "chat", has_tools=False),
)
EVERYBODY: tuple[Client | Library, ...] = (*CLIENTS, *LIBRARIES)
