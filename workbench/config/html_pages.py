"""Pages for a browser that need no other file. Nothing in them loads anything, and only our own script runs.

All pages have the same head, colours and escaping. The Content-Security-Policy of a page names the hashes of its own
style and script, so text that slipped through as markup could neither run nor load anything.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from typing import Any, Final

from workbench.config.text import printable

_LIGHT: Final = {"ink": "#1f2328", "soft": "#5f6772", "rule": "#d8dce2", "paper": "#ffffff", "limit": "#c0392b"}
_DARK: Final = {"ink": "#e4e7eb", "soft": "#9aa3ad", "rule": "#333a42", "paper": "#15181c", "limit": "#ff7b6b"}
_BASE: Final = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2.5rem 0 .3rem; overflow-wrap: anywhere; }
p { color: var(--soft); margin: .2rem 0 1.2rem; }
"""
_ACTING: Final = "<>&\u2028\u2029"


def page_text(text: str) -> str:
    """Text from outside, made safe for a page: one line."""
    return escape(printable(text))


def theme_style(light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """The start of a page's style: its colours, by name, in addition to those that all pages have.

    A page is dark where the reader prefers that, or where a script sets `data-theme` on the root. Paper is light.
    """
    by_day, by_night = (
        " ".join(f"--{name}: {colour};" for name, colour in colours.items())
        for colours in ({**_LIGHT, **light}, {**_DARK, **dark})
    )
    return (
        f":root {{ color-scheme: light; {by_day} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n"
        f'  :root:not([data-theme="light"]) {{ color-scheme: dark; {by_night} }}\n}}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ color-scheme: dark; {by_night} }} }}\n{_BASE}'
    )


def html_page(title: str, style: str, body: str, script: str = "", data: Any = None) -> str:
    """A whole page. `title` and `data` may hold anything; `body` is markup, made with `page_text`.

    `data`: a JSON value for the script, which finds it in the element with the id `data`.
    """
    rules = ["default-src 'none'", f"style-src '{_hash(style)}'", "base-uri 'none'", "form-action 'none'"]
    if script:
        rules += [f"script-src '{_hash(script)}'", "require-trusted-types-for 'script'", "trusted-types 'none'"]
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{page_text(title)}</title><style>{style}</style>"
    )
    held = "" if data is None else f'<script type="application/json" id="data">{_inert_json(data)}</script>'
    run = f"<script>{script}</script>" if script else ""
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}{held}{run}</body></html>\n'


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _inert_json(value: Any) -> str:
    """JSON without a character that ends the element it is in. Its value is the same."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in _ACTING:
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
