"""Nothing heavy is imported before the first count."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from workbench.models import catalogue, encoders, families, framing, images, ledger, litellm_data
from workbench.models import text_pieces, tokens, windows

def heavy():
    return sorted({"litellm", "splintr", "tiktoken", "tokenizers", "textual", "rich"} & set(sys.modules))

print(heavy())
counter = tokens.counter_named("o200k_base")
catalogue.Catalogue().find_model("gpt-4o")
print(heavy())
counter.count("hello")
print(heavy())
"""


def test_a_tokenizer_comes_with_the_first_count_and_litellm_never() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "[]", "['splintr']"]
