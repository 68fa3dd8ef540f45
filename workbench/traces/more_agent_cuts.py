"""The words that show the cuts of more agents; `agent_cuts` has those of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workbench.traces.cut_words import CutWords, by_run, by_source, cleared_result

_PI = by_source("0.74.2")
_COPILOT = by_source("0.0.420")
_KIMI = by_source("2.1.0")
_PI_END = r"(?:\n\nCommand (?:exited with code|timed out|aborted)[^\n]*)?"
_DROPPED = r"<[^<>\n]{1,60} too long - dropped (?:(?P<left_lines>\d+) lines|(?P<left_chars>\d+) characters)"
_OPENHANDS_END = r"(?:\n\[[^\n]*\])*\s*\Z"

MORE_AGENT_CUTS: Final[Mapping[str, tuple[CutWords, ...]]] = {
    "pi": (
        CutWords(
            "[Showing lines 1-2000 of 8123. Full output: …]",
            "end",
            r"\n\n\[Showing lines \d+-\d+ of (?P<lines>\d+)(?: \([^()\n]+ limit\))?\. "
            rf"(?:Use offset=\d+ to continue\.|Full output: [^\n]+)\]{_PI_END}\Z",
            by_run("0.74.2"),
        ),
        CutWords(
            "[Showing last 50.0KB of line 3 (line is 2.1MB). Full output: …]",
            "end",
            rf"\n\n\[Showing last \S+ of line \d+ \(line is (?P<size>[^)\n]+)\)\. Full output: [^\n]+\]{_PI_END}\Z",
            _PI,
        ),
        CutWords(
            "[100 matches limit reached. …]",
            "end",
            r"\n\n\[[^\]\n]*(?:matches|results|entries|[KM]B) limit reached[^\]\n]*\]\Z",
            _PI,
            tools=("grep", "find", "ls"),
        ),
    ),
    "Copilot CLI": (
        CutWords(
            "Output too large to read at once (1.2 MB). Saved to: …",
            "start",
            r"Output too large to read at once \((?P<size>[^)\n]+)\)\. Saved to: ",
            by_run("1.0.102"),
        ),
        CutWords(
            "File too large to read at once (340.7 KB). Consider using …",
            "start",
            r"File too large to read at once \((?P<size>[^)\n]+)\)\. Consider using ",
            by_run("1.0.102"),
            state="masked",
            tools=("view", "str_replace_editor"),
        ),
        CutWords(
            "<output too long - dropped 120 lines from the start>", "start", rf"{_DROPPED} from the start>", _COPILOT
        ),
        CutWords(
            "<output too long - dropped 120 lines from the end>", "end", rf"{_DROPPED} from the end>\n?\Z", _COPILOT
        ),
        CutWords(
            "[Output truncated. Use view_range=[901, ...] to continue reading.]",
            "end",
            r"\n\n\[Output truncated\. Use view_range=\[\d+, \.\.\.\] to continue reading\.\]\Z",
            _COPILOT,
            tools=("view", "str_replace_editor"),
        ),
        CutWords(
            "<note>Content truncated. Call the fetch tool with a start_index of 5000 to get more content.</note>",
            "end",
            r"\n\n<note>Content truncated\. Call the fetch tool with a start_index of \d+ to get more content\."
            r"</note>\s*\Z",
            _COPILOT,
        ),
    ),
    "Kimi Code": (
        CutWords(
            "Tool output exceeded 50000 characters; the full output was saved to a file.",
            "start",
            r"(?:Wall time: [^\n]*\n)?Tool output exceeded \d+ characters(?:;| and could not be saved)[^\n]*\n"
            r"tool_name: [^\n]*\ntool_call_id: [^\n]*\noutput_size_chars: (?P<chars>\d+)",
            by_run("2.1.0"),
        ),
        CutWords(
            "[Per-line truncation occurred; the complete output was saved to a file.",
            "end",
            r"\[Per-line truncation occurred; [^\n]+\noutput_path: [^\n]+\nnext_step: [^\n]+\](?:\n\n[^\n]*)?\Z",
            _KIMI,
        ),
        CutWords(
            "<system>900 lines read from file … Total lines in file: 8123. Character limit reached. …</system>",
            "end",
            r"\n<system>\d+ lines? read from file starting from line \d+\. Total lines in file: (?P<lines>\d+)\. "
            r"Character limit reached\. [^\n]*</system>\Z",
            by_run("2.1.0"),
            tools=("Read",),
            unless=("max_chars",),
        ),
        cleared_result(_KIMI),
    ),
    "OpenHands": (
        CutWords(
            "[... Observation truncated due to length ...]",
            "middle",
            r"\n\[\.\.\. Observation truncated due to length \.\.\.\]\n",
            by_source("0.9.8"),
            inside="Observation truncated due to length",
            behind=_OPENHANDS_END,
            slack=400,
        ),
        CutWords(
            "<response clipped><NOTE>Due to the max output limit, only part of …",
            "middle",
            r"<response clipped><NOTE>Due to the max output limit, only part of [^\n]*?</NOTE>",
            by_source("its agent SDK"),
            inside="<response clipped><NOTE>",
            behind=_OPENHANDS_END,
            slack=400,
        ),
    ),
    "SWE-agent": (
        CutWords(
            "Old environment output: (98 lines omitted)",
            "whole",
            r"Old environment output: \((?P<lines>\d+) lines omitted\)",
            "a real file",
            state="masked",
        ),
        CutWords(
            "<response clipped><NOTE>Observations should not exceeded 100000 characters. 30084 characters were elided.",
            "end",
            r"<response clipped>\n?<NOTE>Observations should not exceeded \d+ characters\. "
            r"(?P<left_chars>\d+) characters were elided\. Please try a different command [^\n]*</NOTE>\Z",
            by_source("1.0"),
        ),
    ),
    "mini-swe-agent": (
        CutWords(
            "<warning> The output of your last command was too long. … <elided_chars> 28999 characters elided",
            "start",
            r"(?:<exception>.{0,2000}?</exception>\n)?<returncode>-?\d+</returncode>\n<warning>\n"
            r"The output of your last command was too long\.\n.*</output_head>\n<elided_chars>\n"
            r"(?P<left_chars>\d+) characters elided\n</elided_chars>\n",
            "a real file",
        ),
        CutWords(
            '"elided_chars": 28999, "warning": "Output too long."',
            "end",
            r'"elided_chars": (?P<left_chars>\d+),\s*"warning": "Output too long\."'
            r'(?:,\s*"exception_info": [^\n]*)?\s*\}\s*\Z',
            by_source("2.4.6"),
        ),
    ),
    "Cline": (
        CutWords(
            "[... output truncated: 91234 chars total. Refine the command … ...]",
            "middle",
            r"\n\[\.\.\. (?:search )?output truncated: (?P<chars>\d+) chars total\. [^\n]* \.\.\.\]\n",
            by_run("3.0.65"),
            inside="output truncated: ",
        ),
        CutWords(
            "[Showing lines 1-2000 of 50000+ lines. Use start_line/end_line to read other sections.]",
            "end",
            r"\n\n\[Showing lines \d+-\d+ of (?P<size>\d+\+? lines)\. Use start_line/end_line to read other "
            r"sections\.\]\Z",
            by_run("3.0.65"),
            tools=("read_files",),
            unless=("end_line",),
        ),
    ),
    "Continue": (
        CutWords(
            "Error executing tool Read: File is too large to read: a.txt (348,894 characters, 60,001 lines). …",
            "start",
            r"Error executing tool Read: File is too large to read: [^\n]+ "
            r"\((?P<chars>[\d,]+) characters, [\d,]+ lines\)\. Maximum allowed: ",
            by_run("1.5.47"),
            state="masked",
            tools=("Read",),
        ),
        CutWords(
            "(previous 120 lines truncated)",
            "start",
            r"\(previous (?:(?P<left_lines>\d+) lines|(?P<left_chars>\d+) characters) truncated\)\n\n"
            r"|\(previous output truncated: \d+ lines and \d+ characters removed\)\n\n",
            by_run("1.5.47"),
        ),
        CutWords(
            "(4096 characters truncated)",
            "end",
            r"\n\n\((?P<left_chars>\d+) characters(?: of [^\n()]+)? truncated\)\Z",
            by_source("1.5.47"),
        ),
    ),
    "Crush": (
        CutWords(
            "... [120 lines truncated] ...",
            "middle",
            r"\n\n\.\.\. \[(?P<left_lines>\d+) lines truncated\] \.\.\.\n\n",
            by_source("2026"),
            inside="lines truncated] ...",
            behind=r"(?:\n\n<cwd>[^\n]*</cwd>)?\Z",
        ),
    ),
    "goose": (
        CutWords(
            "[Output exceeded 2000 line limit (9000 lines total). Full output saved to …]",
            "end",
            r"\[Output exceeded [^\n\]()]+ limit \((?:(?P<lines>\d+) lines|(?P<size>[^)\n]+)) total\)\. "
            r"Full output saved to [^\n]+\]\Z",
            by_run("1.34.0"),
            tools=("shell", "developer__shell"),
        ),
        CutWords(
            "The response returned from the tool call was larger (250000 characters) and is stored in the file …",
            "start",
            r"The response returned from the tool call was larger \((?P<chars>\d+) characters\) and is stored in the ",
            by_source("2026"),
            state="masked",
        ),
    ),
}
"""By agent, with the name of its format."""
