"""Plain words on the screen, on the command line, in docstrings, comments, names and docs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from support.source_code import PACKAGE as ROOT
from support.source_code import module_nodes, parsed_once

pytestmark = parsed_once
SAID_TO_MODELS = ("agent/tools", "compaction/prompts.py", "compaction/continuation.py", "demo", "rehearsal", "traces")
"""What these hold is written for a model, or by another program."""
PUZZLING = (
    *(
        r"took back",
        r"tak(e|es|en|ing) (it |them |back )?back",
        r"\bnot now\b",
        r"^roomy$",
        r"filling up",
        r"nearly full",
    ),
    *(r"no longer stands", r"stands again", r"\bgoes  ", r"not noted down", r"narrow down", r"(go|going) on under"),
    *(r"no part of the conversation", r"\brewrites \{", r"written again", r"throw (it )?away", r"look at it closely"),
    *(
        r"under the mark",
        r"what it is about",
        r"now would\b(?<!compacting now would)",
        r"request, never sent",
        r"made by the plan",
    ),
    *(
        r"(go|goes) on as it was",
        r"of no more use",
        r"missed/100",
        r"\bno fit\b",
        r"sends beyond it",
        r"the summary before",
    ),
    *(r"that is looked at",),
)

HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are not docstrings; of those with values in them, the words between."""
    nodes = module_nodes(path)
    holders = [node for node in nodes if isinstance(node, HOLDERS)]
    described = {id(each.value) for node in holders for each in node.body if isinstance(each, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value


def test_no_text_has_words_that_puzzle() -> None:
    puzzling = re.compile("|".join(PUZZLING), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: say {hit[0]!r} in other words: {text}"
        for path in sorted(ROOT.rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(SAID_TO_MODELS)
        for line, text in texts(path)
        for hit in [puzzling.search(text)]
        if hit
    ]
    assert not found, "\n".join(found)


TOP = Path(__file__).parents[1]
PLAIN_TEXT: tuple[str, ...] = (
    # One path per line. Folders join when they are clean, and never leave.
    "AGENTS.md",
    "README.md",
    "docs/README.md",
    "docs/adapters.md",
    "docs/agents-decisions.md",
    "docs/commands.md",
    "docs/compaction.md",
    "docs/config.md",
    "docs/contributing.md",
    "docs/counting.md",
    "docs/documents.md",
    "docs/explain.md",
    "docs/how-it-works.md",
    "docs/json.md",
    "docs/judge.md",
    "docs/keys.md",
    "docs/lab.md",
    "docs/library.md",
    "docs/mcp.md",
    "docs/opentelemetry.md",
    "docs/plugins.md",
    "docs/policies.md",
    "docs/proxy.md",
    "docs/rehearsing.md",
    "docs/replay.md",
    "docs/transcripts.md",
    "docs/tuning.md",
    "docs/usage.md",
    "docs/watching.md",
    "workbench",
)
"""The docstrings and comments of these modules, and the prose of these pages, have none of the words in `PRIVATE`."""
PLAIN_NAMES: tuple[str, ...] = (
    # One path per line. Folders join when they are clean, and never leave.
    "workbench/agent",
    "workbench/cli",
    "workbench/compaction",
    "workbench/config",
    "workbench/context",
    "workbench/demo",
    "workbench/explain",
    "workbench/judge",
    "workbench/lab",
    "workbench/live",
    "workbench/log",
    "workbench/mcp_server",
    "workbench/models",
    "workbench/proxy",
    "workbench/rehearsal",
    "workbench/session",
    "workbench/sources",
    "workbench/traces",
    "workbench/tui",
    "workbench/usage",
    "workbench/views",
    "workbench/wire",
)
"""The names that these modules define say what they name: see `VAGUE` and `VAGUE_ALONE`."""
PLAIN_MESSAGES: tuple[str, ...] = (
    # One path per line. Folders join when they are clean, and never leave.
    "workbench/agent",
    "workbench/cli",
    "workbench/compaction",
    "workbench/context",
    "workbench/explain",
    "workbench/judge",
    "workbench/lab",
    "workbench/mcp_server",
    "workbench/session",
    "workbench/sources",
    "workbench/tui",
    "workbench/usage",
    "workbench/views",
    "workbench/wire",
)
"""The messages and labels in these modules have none of the words in `PRIVATE`, except for texts written for models."""
PRIVATE = {
    r"\btold\b(?! apart)": "shown, reported, passed, known by",
    r"\bbeside\b": "next to, besides, in addition to, compared with",
    r"\bwhoever\b": "the caller, anyone who",
    r"\banew\b": "again, from scratch",
    r"\bstands\b(?! (between|for|out)\b)": "is, appears, is in effect",
    r"\b(it|that|which) is (?-i:none)\b": "say what it is not, as in 'it is not a time'",
    r"\b(tell|tells|telling|said|say|says|hear|hears) of\b": "show, report, describe, mention",
    r"\b(nothing|anything|something|is|are|was|were|sent|shown|known|seen|read|made) of it\b": "leave out 'of it'",
    r"\b(makes?|becomes?|became|comes?|came|knows?|sees?) of it\b": "the result, what happens to it",
    r"\bwhat (is|was) \w+( \w+)? (is|was)\b": "name the thing",
    r"\b(be|is|are|was|were) there\b(?! (a|an|any|are|is|no|was)\b)": "exists, is present, name the place",
}
"""Words that readers outside the project stumble over, and what to write instead."""
ANY_PRIVATE = re.compile("|".join(PRIVATE), re.IGNORECASE)
CODE = re.compile(r'`[^`]*`|"\w+"')
"""Names in backticks, and keys of JSON."""
NOT_PROSE = re.compile(r"```.*?```|<!-- begin.*?<!-- end -->", re.DOTALL)
"""Code blocks of a page, and the parts that are made from the code."""
VAGUE = {
    "anew": "again",
    "beside": "next",
    "tell": "show, report",
    "told": "shown, reported",
    "whoever": "caller",
}
"""Words that are in no name, and what to write instead."""
VAGUE_ALONE = ("look", "said", "take")
"""Words that are not the whole of a name: `take_focus` says what is taken."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
"""A word of a name, with underscores or in camel case."""


def modules(paths: tuple[str, ...]) -> Iterator[Path]:
    for name in paths:
        found = TOP / name
        yield from sorted(found.rglob("*.py")) if found.is_dir() else [found]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, or the lines of a page without code and generated parts.

    Its comments, too, if a word of `PRIVATE` may be in one: to find where strings end takes most of the time.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(NOT_PROSE.sub(lambda part: "\n" * part[0].count("\n"), source).split("\n"), 1)
        return
    suspect = any(ANY_PRIVATE.search(CODE.sub("", line)) for line in re.findall("#.*", source))
    for token in tokenize.generate_tokens(io.StringIO(source).readline) if suspect else ():
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for holder in module_nodes(path):
        if isinstance(holder, HOLDERS):
            for each in holder.body:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    yield from enumerate(str(each.value.value).split("\n"), each.lineno)


def defined_names(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module gives to functions, classes, arguments, variables and fields."""
    for node in module_nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_docstrings_comments_and_docs_are_in_plain_english() -> None:
    found = [
        f"{path.relative_to(TOP)}:{line}: {hit[0]!r}, better {instead}: {text.strip()}"
        for path in modules(PLAIN_TEXT)
        for line, text in prose(path)
        if ANY_PRIVATE.search(plain := CODE.sub("", text))
        for pattern, instead in PRIVATE.items()
        for hit in [re.search(pattern, plain, re.IGNORECASE)]
        if hit
    ]
    assert not found, "\n".join(found)


def test_messages_are_in_plain_english() -> None:
    found = [
        f"{path.relative_to(TOP)}:{line}: {hit[0]!r}, better {instead}: {text.strip()}"
        for path in modules(PLAIN_MESSAGES)
        if not path.relative_to(ROOT).as_posix().startswith(SAID_TO_MODELS)
        for line, text in texts(path)
        if ANY_PRIVATE.search(text)
        for pattern, instead in PRIVATE.items()
        for hit in [re.search(pattern, text, re.IGNORECASE)]
        if hit and " " in text
    ]
    assert not found, "\n".join(found)


def test_names_say_what_they_name() -> None:
    found = []
    for path in modules(PLAIN_NAMES):
        for line, name in defined_names(path):
            better = [VAGUE[word] for word in map(str.lower, WORD.findall(name)) if word in VAGUE]
            if name.strip("_") in VAGUE_ALONE:
                better = [f"more words that say what is meant, such as {name}_text; names inside functions count, too"]
            found += [f"{path.relative_to(TOP)}:{line}: {name!r}, better with {each}" for each in better]
    assert not found, "\n".join(found)
