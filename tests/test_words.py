"""The words on the screen and the command line are plain: none of those that people had to ask about comes back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
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
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holders = [node for node in ast.walk(tree) if isinstance(node, HOLDERS)]
    described = {id(each.value) for node in holders for each in node.body if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value


def test_no_text_has_words_that_puzzle() -> None:
    puzzling = re.compile("|".join(PUZZLING), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(ROOT.rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(SAID_TO_MODELS)
        for line, text in texts(path)
        if puzzling.search(text)
    ]
    assert found == []
