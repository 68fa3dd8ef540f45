"""Cuts that agents made before they sent something, recognised by the words that each agent writes instead.

The original is in no file then; the file has what the model saw. So that a text which only quotes such words is never
taken for a cut, they count only where their agent writes them: at the beginning, at the end, as the whole text, or in
the middle with as much before as after them, as agents cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workbench.traces.cut_words import CutWords, by_run, by_source, cleared_result
from workbench.traces.more_agent_cuts import MORE_AGENT_CUTS

_CLAUDE = by_source("2.1.325")
_CODEX = by_source("0.166.0")
_GEMINI = by_source("0.61.0")
_OPENCODE = by_source("1.18.18")
_QWEN = by_source("0.15.10")

_CODEX_LINE = r"(?:Chunk ID|Wall time|Process exited|Process running|Exit code|Total output lines)[^\n]*\n"
_CODEX_HEAD = rf"(?:(?:{_CODEX_LINE}|Original token count[^\n]*\n)*Output:\n)?(?:Total output lines: \d+\n\n)?"
_OPENCODE_END = r"</(?:content|file)>(?:\n\n<system-reminder>\n.*</system-reminder>)?\s*\Z"
_TOO_LARGE = (
    r"Tool output was too large and has been truncated\.\nThe full output has been saved to: [^\n]+\n"
    r".{0,400}?\n\nTruncated part of the output:\n"
)

AGENT_CUTS: Final[Mapping[str, tuple[CutWords, ...]]] = {
    "Codex": (
        CutWords(
            "Warning: truncated output (original token count: 29210)",
            "start",
            rf"(?:{_CODEX_LINE})*(?:Original token count: (?P<tokens>\d+)\n)Output:\n"
            r"Warning: truncated output \(original token count: (?P=tokens)\)\n",
            f"a real file; {by_run('0.169.0')}",
        ),
        CutWords(
            "Warning: truncated output (original token count: 29210)",
            "start",
            rf"(?:(?:{_CODEX_LINE})*Output:\n)?Warning: truncated output \(original token count: (?P<tokens>\d+)\)\n",
            _CODEX,
        ),
        CutWords(
            "Total output lines: 515 … [... omitted 259 of 515 lines ...]",
            "start",
            rf"(?:(?:{_CODEX_LINE})*?Output:\n)?Total output lines: (?P<lines>\d+)\n\n"
            r".*?\n\[\.\.\. omitted \d+ of (?P=lines) lines \.\.\.\]\n",
            by_source("2025"),
        ),
        CutWords(
            "…1649 tokens truncated…",
            "middle",
            r"…(?:(?P<left_tokens>\d+) tokens|(?P<left_chars>\d+) chars) truncated…",
            "a real file",
            inside="truncated…",
            before=_CODEX_HEAD,
        ),
        CutWords(
            "Output exceeded the available model context and was truncated",
            "whole",
            r"Output exceeded the available model context and was truncated",
            _CODEX,
            state="masked",
        ),
    ),
    "Claude Code": (
        CutWords(
            "<persisted-output> Output too large (370.3KB). Full output saved to: …",
            "start",
            r"<persisted-output>\n(?:[^\n]*\n){0,4}?Output (?:too large \((?P<size>[^)\n]+)\)\. Full output saved to: "
            r"|exceeded the [^\n]+ persist limit; only the first [^\n]+ were saved to: )",
            f"a real file; {by_run('2.1.326')}",
        ),
        CutWords(
            "<persisted-output>Tool result saved to: …",
            "start",
            r"<persisted-output>Tool result saved to: [^\n]+",
            _CLAUDE,
            state="masked",
        ),
        CutWords(
            "<truncated-output> Output too large (370.3KB). It could not be saved, …",
            "start",
            r"<truncated-output>\n.{0,4000}?Output too large \((?P<size>[^)\n]+)\)\. It could not be saved, so only ",
            _CLAUDE,
        ),
        CutWords(
            "<system-reminder>[Truncated: PARTIAL view — FILE: showing lines 1-900 of 5000 total (61234 tokens, …",
            "start",
            r"(?:<system-reminder>)?\[Truncated: PARTIAL view — [^\n]*?: "
            r"(?:showing (?:[^\n]*?of (?P<lines>\d+) total|the first \d+ of \d+ characters) \((?P<tokens>\d+) tokens"
            r"|showing \d+ of \d+ lines|this view is incomplete)",
            _CLAUDE,
        ),
        CutWords(
            "Error: result (123,456 characters) exceeds maximum allowed tokens. Output has been saved to …",
            "start",
            r"Error: result \((?P<chars>[\d,]+) characters(?: across [\d,]+ lines?)?\) exceeds maximum allowed "
            r"tokens\. (?:Output has been saved to|Failed to save output to file)",
            _CLAUDE,
            state="masked",
        ),
        CutWords(
            "File content (340.7KB) exceeds maximum allowed size (256KB). Use offset and limit …",
            "start",
            r"(?:<tool_use_error>)?File content \((?:(?P<tokens>[\d,]+) tokens|(?P<size>[^)\n]+))\) exceeds maximum "
            r"allowed (?:size|tokens) \([^)\n]+\)\. ",
            by_run("2.1.326"),
            state="masked",
            tools=("Read",),
        ),
        CutWords(
            "... [120 lines truncated] ...",
            "end",
            r"\n\n\.\.\. \[(?P<left_lines>\d+) lines truncated\] \.\.\.\Z",
            _CLAUDE,
            tools=("Bash", "Edit", "MultiEdit"),
        ),
        CutWords(
            "... [4096 characters truncated] ...",
            "middle",
            r"\n\n\.\.\. \[(?P<left_chars>\d+) characters truncated\] \.\.\.\n\n",
            _CLAUDE,
            inside="characters truncated] ...",
        ),
        cleared_result(_CLAUDE),
    ),
    "Gemini CLI": (
        CutWords(
            "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: …",
            "start",
            r"Output too large\. Showing first [\d,.]+ and last [\d,.]+ characters\. For full output see: [^\n]+\n"
            r".*\n\n\.\.\. \[(?P<left_chars>[\d,.]+) characters omitted\] \.\.\.\n\n",
            by_run("0.61.0"),
        ),
        CutWords(
            "IMPORTANT: The file content has been truncated. Status: Showing lines 1-2000 of 8123 total lines.",
            "start",
            r"\n?IMPORTANT: The file content has been truncated\.\n"
            r"Status: Showing lines \d+-\d+ of (?P<lines>\d+) total",
            by_run("0.61.0"),
            unless=("end_line", "limit"),
        ),
        CutWords(
            "Tool output was too large and has been truncated.",
            "start",
            _TOO_LARGE,
            "a real run of Qwen Code, which came from it",
        ),
        CutWords(
            "[GEMINI_CLI_WARNING: Output truncated. The buffer is limited to 16MB.]",
            "end",
            r"\n\[GEMINI_CLI_WARNING: Output truncated\. The buffer is limited to [^\]\n]+\]\Z",
            _GEMINI,
        ),
        CutWords(
            "... [Content truncated due to size limit] ...",
            "end",
            r"\n\n\.\.\. \[Content truncated due to size limit\] \.\.\.\Z",
            _GEMINI,
            tools=("web_fetch",),
        ),
        CutWords(
            "<tool_output_masked>",
            "whole",
            r"<tool_output_masked>\n.*\n</tool_output_masked>\s*",
            by_run("0.61.0"),
            state="masked",
        ),
    ),
    "Qwen Code": (
        CutWords("Tool output was too large and has been truncated.", "start", _TOO_LARGE, by_run("0.15.10, 0.24.4")),
        CutWords(
            "Showing lines 1-1000 of 8123 total lines.",
            "start",
            r"Showing lines \d+-\d+ of (?P<lines>\d+) total lines\.\n\n---\n\n",
            by_run("0.15.10"),
            tools=("read_file",),
            unless=("limit",),
        ),
        CutWords(
            "[Note: Could not save full output to file]",
            "end",
            r"\n\[Note: Could not save full output to file\]\Z",
            _QWEN,
        ),
        cleared_result(_QWEN),
    ),
    "opencode": (
        CutWords(
            "...120 lines truncated... The tool call succeeded but the output was truncated. Full output saved to: …",
            "start",
            r"\.\.\.(?:(?P<left_lines>\d+) lines|(?P<left_bytes>\d+) bytes) truncated\.\.\.\n\n"
            r"The tool call succeeded but the output was truncated\. Full output saved to: ",
            _OPENCODE,
        ),
        CutWords(
            "...120 lines truncated... The tool call succeeded but the output was truncated. Full output saved to: …",
            "end",
            r"\n\n\.\.\.(?:(?P<left_lines>\d+) lines|(?P<left_bytes>\d+) bytes) truncated\.\.\.\n\n"
            r"The tool call succeeded but the output was truncated\. Full output saved to: [^\n]+\nUse [^\n]+\Z",
            _OPENCODE,
        ),
        CutWords(
            "...output truncated... Full output saved to: …",
            "start",
            r"\.\.\.output truncated\.\.\.\n\nFull output saved to: [^\n]+\n\n",
            by_run("1.18.33"),
            tools=("bash", "shell"),
        ),
        CutWords(
            "(Output capped at 50 KB. Showing lines 1-900. Use offset=901 to continue.)",
            "end",
            r"\n\n\(Output capped at [^\n]+?\. Showing lines \d+-\d+\. Use offset=\d+ to continue\.\)\n"
            rf"{_OPENCODE_END}",
            _OPENCODE,
            tools=("read",),
        ),
        CutWords(
            "(Showing lines 1-2000 of 8123. Use offset=2001 to continue.)",
            "end",
            r"\n\n\(Showing lines \d+-\d+ of (?P<lines>\d+)\. Use offset=\d+ to continue\.\)\n"
            rf"{_OPENCODE_END}",
            by_run("1.18.33"),
            tools=("read",),
            unless=("limit",),
        ),
        cleared_result(_OPENCODE),
    ),
    **MORE_AGENT_CUTS,
}
"""By agent, with the name of its format."""
