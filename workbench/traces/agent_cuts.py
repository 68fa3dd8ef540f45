"""Cuts that agents made before they sent something: known by the words that each of them writes in its place.

The original is in no file then; what is there is what the model saw. So that a text which only quotes such words is
never taken for a cut, they count only where their agent writes them: at the beginning, at the end, as the whole text,
or in the middle where as much stands before them as behind them, as agents cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from workbench.traces.cut_words import CutWords, words

OLD_RESULT: Final = "[Old tool result content cleared]"
"""What Claude Code, opencode, Qwen Code and Kimi Code send in place of results that they cleared."""


def _run(version: str) -> str:
    return f"a real run ({version})"


def _source(version: str) -> str:
    return f"its source only ({version})"


def _cleared(shown_by: str) -> CutWords:
    return words(OLD_RESULT, "whole", re.escape(OLD_RESULT), shown_by, state="masked")


_CLAUDE = _source("2.1.325")
_CODEX = _source("0.166.0")
_GEMINI = _source("0.61.0")
_OPENCODE = _source("1.18.18")
_PI = _source("0.74.2")
_COPILOT = _source("0.0.420")
_KIMI = _source("2.1.0")
_QWEN = _source("0.15.10")

_CODEX_LINE = r"(?:Chunk ID|Wall time|Process exited|Process running|Exit code|Total output lines)[^\n]*\n"
_CODEX_HEAD: Final = re.compile(
    rf"(?:(?:{_CODEX_LINE}|Original token count[^\n]*\n)*Output:\n)?(?:Total output lines: \d+\n\n)?"
)
_OPENCODE_END = r"</(?:content|file)>(?:\n\n<system-reminder>\n.*</system-reminder>)?\s*\Z"
_PI_END = r"(?:\n\nCommand (?:exited with code|timed out|aborted)[^\n]*)?"
_DROPPED = r"<[^<>\n]{1,60} too long - dropped (?:(?P<left_lines>\d+) lines|(?P<left_chars>\d+) characters)"
_OPENHANDS_END: Final = re.compile(r"(?:\n\[[^\n]*\])*\s*\Z")
_TOO_LARGE = (
    r"Tool output was too large and has been truncated\.\nThe full output has been saved to: [^\n]+\n"
    r".{0,400}?\n\nTruncated part of the output:\n"
)

AGENT_CUTS: Final[Mapping[str, tuple[CutWords, ...]]] = {
    "Codex": (
        words(
            "Warning: truncated output (original token count: 29210)",
            "start",
            rf"(?:{_CODEX_LINE})*(?:Original token count: (?P<tokens>\d+)\n)Output:\n"
            r"Warning: truncated output \(original token count: (?P=tokens)\)\n",
            f"a real file; {_run('0.169.0')}",
        ),
        words(
            "Warning: truncated output (original token count: 29210)",
            "start",
            rf"(?:(?:{_CODEX_LINE})*Output:\n)?Warning: truncated output \(original token count: (?P<tokens>\d+)\)\n",
            _CODEX,
        ),
        words(
            "Total output lines: 515 … [... omitted 259 of 515 lines ...]",
            "start",
            rf"(?:(?:{_CODEX_LINE})*?Output:\n)?Total output lines: (?P<lines>\d+)\n\n"
            r".*?\n\[\.\.\. omitted \d+ of (?P=lines) lines \.\.\.\]\n",
            _source("2025"),
        ),
        words(
            "…1649 tokens truncated…",
            "middle",
            r"…(?:(?P<left_tokens>\d+) tokens|(?P<left_chars>\d+) chars) truncated…",
            "a real file",
            before=_CODEX_HEAD,
        ),
        words(
            "Output exceeded the available model context and was truncated",
            "whole",
            r"Output exceeded the available model context and was truncated",
            _CODEX,
            state="masked",
        ),
    ),
    "Claude Code": (
        words(
            "<persisted-output> Output too large (370.3KB). Full output saved to: …",
            "start",
            r"<persisted-output>\n(?:[^\n]*\n){0,4}?Output (?:too large \((?P<size>[^)\n]+)\)\. Full output saved to: "
            r"|exceeded the [^\n]+ persist limit; only the first [^\n]+ were saved to: )",
            f"a real file; {_run('2.1.326')}",
        ),
        words(
            "<persisted-output>Tool result saved to: …",
            "start",
            r"<persisted-output>Tool result saved to: [^\n]+",
            _CLAUDE,
            state="masked",
        ),
        words(
            "<truncated-output> Output too large (370.3KB). It could not be saved, …",
            "start",
            r"<truncated-output>\n.{0,4000}?Output too large \((?P<size>[^)\n]+)\)\. It could not be saved, so only ",
            _CLAUDE,
        ),
        words(
            "<system-reminder>[Truncated: PARTIAL view — FILE: showing lines 1-900 of 5000 total (61234 tokens, …",
            "start",
            r"(?:<system-reminder>)?\[Truncated: PARTIAL view — [^\n]*?: "
            r"(?:showing (?:[^\n]*?of (?P<lines>\d+) total|the first \d+ of \d+ characters) \((?P<tokens>\d+) tokens"
            r"|showing \d+ of \d+ lines|this view is incomplete)",
            _CLAUDE,
        ),
        words(
            "Error: result (123,456 characters) exceeds maximum allowed tokens. Output has been saved to …",
            "start",
            r"Error: result \((?P<chars>[\d,]+) characters(?: across [\d,]+ lines?)?\) exceeds maximum allowed "
            r"tokens\. (?:Output has been saved to|Failed to save output to file)",
            _CLAUDE,
            state="masked",
        ),
        words(
            "File content (340.7KB) exceeds maximum allowed size (256KB). Use offset and limit …",
            "start",
            r"(?:<tool_use_error>)?File content \((?:(?P<tokens>[\d,]+) tokens|(?P<size>[^)\n]+))\) exceeds maximum "
            r"allowed (?:size|tokens) \([^)\n]+\)\. ",
            _run("2.1.326"),
            state="masked",
            tools=("Read",),
        ),
        words(
            "... [120 lines truncated] ...",
            "end",
            r"\n\n\.\.\. \[(?P<left_lines>\d+) lines truncated\] \.\.\.\Z",
            _CLAUDE,
            tools=("Bash", "Edit", "MultiEdit"),
        ),
        words(
            "... [4096 characters truncated] ...",
            "middle",
            r"\n\n\.\.\. \[(?P<left_chars>\d+) characters truncated\] \.\.\.\n\n",
            _CLAUDE,
        ),
        _cleared(_CLAUDE),
    ),
    "Gemini CLI": (
        words(
            "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: …",
            "start",
            r"Output too large\. Showing first [\d,.]+ and last [\d,.]+ characters\. For full output see: [^\n]+\n"
            r".*\n\n\.\.\. \[(?P<left_chars>[\d,.]+) characters omitted\] \.\.\.\n\n",
            _run("0.61.0"),
        ),
        words(
            "IMPORTANT: The file content has been truncated. Status: Showing lines 1-2000 of 8123 total lines.",
            "start",
            r"\n?IMPORTANT: The file content has been truncated\.\n"
            r"Status: Showing lines \d+-\d+ of (?P<lines>\d+) total",
            _run("0.61.0"),
            unless=("end_line", "limit"),
        ),
        words(
            "Tool output was too large and has been truncated.",
            "start",
            _TOO_LARGE,
            "a real run of Qwen Code, which came from it",
        ),
        words(
            "[GEMINI_CLI_WARNING: Output truncated. The buffer is limited to 16MB.]",
            "end",
            r"\n\[GEMINI_CLI_WARNING: Output truncated\. The buffer is limited to [^\]\n]+\]\Z",
            _GEMINI,
        ),
        words(
            "... [Content truncated due to size limit] ...",
            "end",
            r"\n\n\.\.\. \[Content truncated due to size limit\] \.\.\.\Z",
            _GEMINI,
            tools=("web_fetch",),
        ),
        words(
            "<tool_output_masked>",
            "whole",
            r"<tool_output_masked>\n.*\n</tool_output_masked>\s*",
            _run("0.61.0"),
            state="masked",
        ),
    ),
    "Qwen Code": (
        words("Tool output was too large and has been truncated.", "start", _TOO_LARGE, _run("0.15.10, 0.24.4")),
        words(
            "Showing lines 1-1000 of 8123 total lines.",
            "start",
            r"Showing lines \d+-\d+ of (?P<lines>\d+) total lines\.\n\n---\n\n",
            _run("0.15.10"),
            tools=("read_file",),
            unless=("limit",),
        ),
        words(
            "[Note: Could not save full output to file]",
            "end",
            r"\n\[Note: Could not save full output to file\]\Z",
            _QWEN,
        ),
        _cleared(_QWEN),
    ),
    "opencode": (
        words(
            "...120 lines truncated... The tool call succeeded but the output was truncated. Full output saved to: …",
            "start",
            r"\.\.\.(?:(?P<left_lines>\d+) lines|(?P<left_bytes>\d+) bytes) truncated\.\.\.\n\n"
            r"The tool call succeeded but the output was truncated\. Full output saved to: ",
            _OPENCODE,
        ),
        words(
            "...120 lines truncated... The tool call succeeded but the output was truncated. Full output saved to: …",
            "end",
            r"\n\n\.\.\.(?:(?P<left_lines>\d+) lines|(?P<left_bytes>\d+) bytes) truncated\.\.\.\n\n"
            r"The tool call succeeded but the output was truncated\. Full output saved to: [^\n]+\nUse [^\n]+\Z",
            _OPENCODE,
        ),
        words(
            "...output truncated... Full output saved to: …",
            "start",
            r"\.\.\.output truncated\.\.\.\n\nFull output saved to: [^\n]+\n\n",
            _run("1.18.33"),
            tools=("bash", "shell"),
        ),
        words(
            "(Output capped at 50 KB. Showing lines 1-900. Use offset=901 to continue.)",
            "end",
            r"\n\n\(Output capped at [^\n]+?\. Showing lines \d+-\d+\. Use offset=\d+ to continue\.\)\n"
            rf"{_OPENCODE_END}",
            _OPENCODE,
            tools=("read",),
        ),
        words(
            "(Showing lines 1-2000 of 8123. Use offset=2001 to continue.)",
            "end",
            r"\n\n\(Showing lines \d+-\d+ of (?P<lines>\d+)\. Use offset=\d+ to continue\.\)\n"
            rf"{_OPENCODE_END}",
            _run("1.18.33"),
            tools=("read",),
            unless=("limit",),
        ),
        _cleared(_OPENCODE),
    ),
    "pi": (
        words(
            "[Showing lines 1-2000 of 8123. Full output: …]",
            "end",
            r"\n\n\[Showing lines \d+-\d+ of (?P<lines>\d+)(?: \([^()\n]+ limit\))?\. "
            rf"(?:Use offset=\d+ to continue\.|Full output: [^\n]+)\]{_PI_END}\Z",
            _run("0.74.2"),
        ),
        words(
            "[Showing last 50.0KB of line 3 (line is 2.1MB). Full output: …]",
            "end",
            rf"\n\n\[Showing last \S+ of line \d+ \(line is (?P<size>[^)\n]+)\)\. Full output: [^\n]+\]{_PI_END}\Z",
            _PI,
        ),
        words(
            "[100 matches limit reached. …]",
            "end",
            r"\n\n\[[^\]\n]*(?:matches|results|entries|[KM]B) limit reached[^\]\n]*\]\Z",
            _PI,
            tools=("grep", "find", "ls"),
        ),
    ),
    "Copilot CLI": (
        words(
            "Output too large to read at once (1.2 MB). Saved to: …",
            "start",
            r"Output too large to read at once \((?P<size>[^)\n]+)\)\. Saved to: ",
            _run("1.0.102"),
        ),
        words(
            "File too large to read at once (340.7 KB). Consider using …",
            "start",
            r"File too large to read at once \((?P<size>[^)\n]+)\)\. Consider using ",
            _run("1.0.102"),
            state="masked",
            tools=("view", "str_replace_editor"),
        ),
        words(
            "<output too long - dropped 120 lines from the start>",
            "start",
            rf"{_DROPPED} from the start>",
            _COPILOT,
        ),
        words(
            "<output too long - dropped 120 lines from the end>",
            "end",
            rf"{_DROPPED} from the end>\n?\Z",
            _COPILOT,
        ),
        words(
            "[Output truncated. Use view_range=[901, ...] to continue reading.]",
            "end",
            r"\n\n\[Output truncated\. Use view_range=\[\d+, \.\.\.\] to continue reading\.\]\Z",
            _COPILOT,
            tools=("view", "str_replace_editor"),
        ),
        words(
            "<note>Content truncated. Call the fetch tool with a start_index of 5000 to get more content.</note>",
            "end",
            r"\n\n<note>Content truncated\. Call the fetch tool with a start_index of \d+ to get more content\."
            r"</note>\s*\Z",
            _COPILOT,
        ),
    ),
    "Kimi Code": (
        words(
            "Tool output exceeded 50000 characters; the full output was saved to a file.",
            "start",
            r"(?:Wall time: [^\n]*\n)?Tool output exceeded \d+ characters(?:;| and could not be saved)[^\n]*\n"
            r"tool_name: [^\n]*\ntool_call_id: [^\n]*\noutput_size_chars: (?P<chars>\d+)",
            _run("2.1.0"),
        ),
        words(
            "[Per-line truncation occurred; the complete output was saved to a file.",
            "end",
            r"\[Per-line truncation occurred; [^\n]+\noutput_path: [^\n]+\nnext_step: [^\n]+\](?:\n\n[^\n]*)?\Z",
            _KIMI,
        ),
        words(
            "<system>900 lines read from file … Total lines in file: 8123. Character limit reached. …</system>",
            "end",
            r"\n<system>\d+ lines? read from file starting from line \d+\. Total lines in file: (?P<lines>\d+)\. "
            r"Character limit reached\. [^\n]*</system>\Z",
            _run("2.1.0"),
            tools=("Read",),
            unless=("max_chars",),
        ),
        _cleared(_KIMI),
    ),
    "OpenHands": (
        words(
            "[... Observation truncated due to length ...]",
            "middle",
            r"\n\[\.\.\. Observation truncated due to length \.\.\.\]\n",
            _source("0.9.8"),
            behind=_OPENHANDS_END,
            slack=400,
        ),
        words(
            "<response clipped><NOTE>Due to the max output limit, only part of …",
            "middle",
            r"<response clipped><NOTE>Due to the max output limit, only part of [^\n]*?</NOTE>",
            _source("its agent SDK"),
            behind=_OPENHANDS_END,
            slack=400,
        ),
    ),
    "SWE-agent": (
        words(
            "Old environment output: (98 lines omitted)",
            "whole",
            r"Old environment output: \((?P<lines>\d+) lines omitted\)",
            "a real file",
            state="masked",
        ),
        words(
            "<response clipped><NOTE>Observations should not exceeded 100000 characters. 30084 characters were elided.",
            "end",
            r"<response clipped>\n?<NOTE>Observations should not exceeded \d+ characters\. "
            r"(?P<left_chars>\d+) characters were elided\. Please try a different command [^\n]*</NOTE>\Z",
            _source("1.0"),
        ),
    ),
    "mini-swe-agent": (
        words(
            "<warning> The output of your last command was too long. … <elided_chars> 28999 characters elided",
            "start",
            r"(?:<exception>.{0,2000}?</exception>\n)?<returncode>-?\d+</returncode>\n<warning>\n"
            r"The output of your last command was too long\.\n.*</output_head>\n<elided_chars>\n"
            r"(?P<left_chars>\d+) characters elided\n</elided_chars>\n",
            "a real file",
        ),
        words(
            '"elided_chars": 28999, "warning": "Output too long."',
            "end",
            r'"elided_chars": (?P<left_chars>\d+),\s*"warning": "Output too long\."'
            r'(?:,\s*"exception_info": [^\n]*)?\s*\}\s*\Z',
            _source("2.4.6"),
        ),
    ),
    "Cline": (
        words(
            "[... output truncated: 91234 chars total. Refine the command … ...]",
            "middle",
            r"\n\[\.\.\. (?:search )?output truncated: (?P<chars>\d+) chars total\. [^\n]* \.\.\.\]\n",
            _run("3.0.65"),
        ),
        words(
            "[Showing lines 1-2000 of 50000+ lines. Use start_line/end_line to read other sections.]",
            "end",
            r"\n\n\[Showing lines \d+-\d+ of (?P<size>\d+\+? lines)\. Use start_line/end_line to read other "
            r"sections\.\]\Z",
            _run("3.0.65"),
            tools=("read_files",),
            unless=("end_line",),
        ),
    ),
    "Continue": (
        words(
            "Error executing tool Read: File is too large to read: a.txt (348,894 characters, 60,001 lines). …",
            "start",
            r"Error executing tool Read: File is too large to read: [^\n]+ "
            r"\((?P<chars>[\d,]+) characters, [\d,]+ lines\)\. Maximum allowed: ",
            _run("1.5.47"),
            state="masked",
            tools=("Read",),
        ),
        words(
            "(previous 120 lines truncated)",
            "start",
            r"\(previous (?:(?P<left_lines>\d+) lines|(?P<left_chars>\d+) characters) truncated\)\n\n"
            r"|\(previous output truncated: \d+ lines and \d+ characters removed\)\n\n",
            _run("1.5.47"),
        ),
        words(
            "(4096 characters truncated)",
            "end",
            r"\n\n\((?P<left_chars>\d+) characters(?: of [^\n()]+)? truncated\)\Z",
            _source("1.5.47"),
        ),
    ),
    "Crush": (
        words(
            "... [120 lines truncated] ...",
            "middle",
            r"\n\n\.\.\. \[(?P<left_lines>\d+) lines truncated\] \.\.\.\n\n",
            _source("2026"),
            behind=re.compile(r"(?:\n\n<cwd>[^\n]*</cwd>)?\Z"),
        ),
    ),
    "goose": (
        words(
            "[Output exceeded 2000 line limit (9000 lines total). Full output saved to …]",
            "end",
            r"\[Output exceeded [^\n\]()]+ limit \((?:(?P<lines>\d+) lines|(?P<size>[^)\n]+)) total\)\. "
            r"Full output saved to [^\n]+\]\Z",
            _run("1.34.0"),
            tools=("shell", "developer__shell"),
        ),
        words(
            "The response returned from the tool call was larger (250000 characters) and is stored in the file …",
            "start",
            r"The response returned from the tool call was larger \((?P<chars>\d+) characters\) and is stored in the ",
            _source("2026"),
            state="masked",
        ),
    ),
}
"""By agent, as its format is called."""
