"""What agents write where they cut something: the agent, its tool, the text, and what is read in it."""

from __future__ import annotations

import json

from workbench.traces.cut_words import OLD_RESULT

HALF = "a line of output\n" * 600
CODEX = "Chunk ID: a1\nWall time: 0.5 seconds\nProcess exited with code 0\nOriginal token count: 29210\nOutput:\n"
WARNING = "Warning: truncated output (original token count: 29210)\nTotal output lines: 681\n\n"
SAVED = "The tool call succeeded but the output was truncated. Full output saved to: /tmp/tool_1\nUse Grep to search."
TOO_LARGE = (
    "Tool output was too large and has been truncated.\nThe full output has been saved to: /tmp/x\nTo read the complete"
    " output, use the read_file tool.\nThe truncated output below shows the beginning and end of the content.\n\n"
    "Truncated part of the output:\n"
)
ELIDED = "<output_head>\nx\n</output_head>\n<elided_chars>\n28999 characters elided\n</elided_chars>\n<output_tail>\n"
WRITTEN: list[tuple[str, str, str, tuple[str, str, int]]] = [
    (
        "Codex",
        "exec_command",
        f"{CODEX}{WARNING}{HALF}…19210 tokens truncated…{HALF}",
        ("truncated", "29,210 tokens before", 29210),
    ),
    (
        "Codex",
        "shell",
        f"Exit code: 0\nWall time: 1 seconds\nOutput:\n{WARNING}{HALF}",
        ("truncated", "29,210 tokens before", 29210),
    ),
    ("Codex", "mcp", f"{HALF}…19210 tokens truncated…{HALF}", ("truncated", "19,210 tokens left out", 0)),
    ("Codex", "mcp", f"{HALF}…77 chars truncated…{HALF}", ("truncated", "77 characters left out", 0)),
    (
        "Codex",
        "shell",
        json.dumps(
            {"output": f"Total output lines: 515\n\n{HALF}\n[... omitted 259 of 515 lines ...]\n{HALF}", "metadata": {}}
        ),
        ("truncated", "515 lines before", 0),
    ),
    ("Codex", "exec", "Output exceeded the available model context and was truncated", ("masked", "", 0)),
    (
        "Claude Code",
        "Bash",
        "<persisted-output>\nOutput too large (370.3KB). Full output saved to: /home/u/x.txt\n\nPreview "
        f"(first 2KB):\n{HALF}\n...\n</persisted-output>",
        ("truncated", "370.3KB before", 0),
    ),
    (
        "Claude Code",
        "Read",
        "<persisted-output>Tool result saved to: /x\n\nUse Read to view</persisted-output>",
        ("masked", "", 0),
    ),
    (
        "Claude Code",
        "mcp__a__b",
        "<truncated-output>\nabc\n\nOutput too large (1.2MB). It could not be saved, so only the first "
        "2KB are shown;\n</truncated-output>",
        ("truncated", "1.2MB before", 0),
    ),
    (
        "Claude Code",
        "Read",
        "<system-reminder>[Truncated: PARTIAL view — /a.py: showing lines 1-900 of 5000 total (61234 "
        "tokens, cap 25000). Call",
        ("truncated", "61,234 tokens before", 61234),
    ),
    (
        "Claude Code",
        "mcp__a__b",
        "Error: result (123,456 characters across 12 lines) exceeds maximum allowed tokens. Output has "
        "been saved to /x.",
        ("masked", "123,456 characters before", 0),
    ),
    ("Claude Code", "Bash", f"{HALF}\n\n... [120 lines truncated] ...", ("truncated", "120 lines left out", 0)),
    (
        "Claude Code",
        "Bash",
        f"{HALF}\n\n... [4096 characters truncated] ...\n\n{HALF}",
        ("truncated", "4,096 characters left out", 0),
    ),
    ("Claude Code", "Bash", OLD_RESULT, ("masked", "", 0)),
    (
        "Claude Code",
        "Read",
        "File content (340.7KB) exceeds maximum allowed size (256KB). Use offset and limit parameters to read",
        ("masked", "340.7KB before", 0),
    ),
    (
        "Claude Code",
        "Read",
        "<tool_use_error>File content (61,234 tokens) exceeds maximum allowed tokens (25000). Please use offset",
        ("masked", "61,234 tokens before", 61234),
    ),
    (
        "Gemini CLI",
        "run_shell_command",
        "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: "
        f"/x\n{HALF}\n\n... [91,234 characters omitted] ...\n\n{HALF}",
        ("truncated", "91,234 characters left out", 0),
    ),
    (
        "Gemini CLI",
        "read_file",
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-2000 of 8123 total "
        "lines.\nAction: read on",
        ("truncated", "8,123 lines before", 0),
    ),
    ("Gemini CLI", "run_shell_command", f"{TOO_LARGE}{HALF}", ("truncated", "", 0)),
    (
        "Gemini CLI",
        "run_shell_command",
        "<tool_output_masked>\nOutput: x\n\nOutput too large. Full output available at: /x\n</tool_output_masked>",
        ("masked", "", 0),
    ),
    ("Qwen Code", "run_shell_command", f"{TOO_LARGE}{HALF}", ("truncated", "", 0)),
    ("Qwen Code", "read_file", OLD_RESULT, ("masked", "", 0)),
    (
        "Qwen Code",
        "read_file",
        f"Showing lines 1-1000 of 8123 total lines.\n\n---\n\n{HALF}",
        ("truncated", "8,123 lines before", 0),
    ),
    (
        "opencode",
        "read",
        f"<path>/a</path>\n<type>file</type>\n<content>\n{HALF}\n\n(Showing lines 1-2000 of 8123. Use offset=2001 to "
        "continue.)\n</content>",
        ("truncated", "8,123 lines before", 0),
    ),
    (
        "Copilot CLI",
        "view",
        "File too large to read at once (340.7 KB). Consider using the grep tool to search within the file.",
        ("masked", "340.7 KB before", 0),
    ),
    (
        "Kimi Code",
        "Bash",
        "Wall time: 3.231 seconds\nTool output exceeded 50000 characters; the full output was saved to a file.\n"
        f"tool_name: Bash\ntool_call_id: c1\noutput_size_chars: 376893\n{HALF}",
        ("truncated", "376,893 characters before", 0),
    ),
    (
        "Kimi Code",
        "Read",
        f"{HALF}<system>900 lines read from file starting from line 1. Total lines in file: 8123. Character limit "
        'reached. Effective max_chars: 100000. Next Read: {"line_offset":901}</system>',
        ("truncated", "8,123 lines before", 0),
    ),
    ("opencode", "grep", f"{HALF}\n\n...120 lines truncated...\n\n{SAVED}", ("truncated", "120 lines left out", 0)),
    (
        "opencode",
        "grep",
        f"...51200 bytes truncated...\n\n{SAVED}\n\n{HALF}",
        ("truncated", "51,200 bytes left out", 0),
    ),
    ("opencode", "bash", f"...output truncated...\n\nFull output saved to: /x\n\n{HALF}", ("truncated", "", 0)),
    (
        "opencode",
        "read",
        f"<path>/a</path>\n<content>\n{HALF}\n\n(Output capped at 50 KB. Showing lines 1-900. Use "
        "offset=901 to continue.)\n</content>",
        ("truncated", "", 0),
    ),
    (
        "pi",
        "bash",
        f"{HALF}\n\n[Showing lines 6123-8123 of 8123. Full output: /tmp/pi.log]",
        ("truncated", "8,123 lines before", 0),
    ),
    (
        "pi",
        "bash",
        f"{HALF}\n\n[Showing lines 1-9 of 99 (50.0KB limit). Full output: /x]\n\nCommand exited with code 1",
        ("truncated", "99 lines before", 0),
    ),
    (
        "pi",
        "read",
        f"{HALF}\n\n[Showing lines 1-2000 of 8123. Use offset=2001 to continue.]",
        ("truncated", "8,123 lines before", 0),
    ),
    (
        "pi",
        "bash",
        f"{HALF}\n\n[Showing last 50.0KB of line 3 (line is 2.1MB). Full output: /x]",
        ("truncated", "2.1MB before", 0),
    ),
    (
        "pi",
        "grep",
        f"{HALF}\n\n[100 matches limit reached. Use limit=200 for more, or refine pattern]",
        ("truncated", "", 0),
    ),
    (
        "Copilot CLI",
        "bash",
        f"Output too large to read at once (1.2 MB). Saved to: /x\n{HALF}",
        ("truncated", "1.2 MB before", 0),
    ),
    (
        "Copilot CLI",
        "bash",
        f"<output too long - dropped 120 lines from the start>\n{HALF}",
        ("truncated", "120 lines left out", 0),
    ),
    (
        "Kimi Code",
        "Bash",
        "Tool output exceeded 50000 characters; the full output was saved to a file.\ntool_name: "
        "Bash\ntool_call_id: c\noutput_size_chars: 91234\n",
        ("truncated", "91,234 characters before", 0),
    ),
    ("OpenHands", "bash", f"{HALF}\n[... Observation truncated due to length ...]\n{HALF}", ("truncated", "", 0)),
    (
        "OpenHands",
        "terminal",
        f"{HALF}<response clipped><NOTE>Due to the max output limit, only part of the full response has "
        f"been shown to you.</NOTE>{HALF}\n[exit code 0]",
        ("truncated", "", 0),
    ),
    ("SWE-agent", "", "Old environment output: (98 lines omitted)", ("masked", "98 lines before", 0)),
    (
        "SWE-agent",
        "",
        f"Observation: {HALF}<response clipped><NOTE>Observations should not exceeded 100000 characters. "
        "30084 characters were elided. Please try a different command that produces less output.</NOTE>",
        ("truncated", "30,084 characters left out", 0),
    ),
    (
        "mini-swe-agent",
        "",
        "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\nPlease "
        f"try.\n</warning>\n{ELIDED}y\n</output_tail>",
        ("truncated", "28,999 characters left out", 0),
    ),
    (
        "mini-swe-agent",
        "bash",
        '{\n  "returncode": 0,\n  "output_head": "x",\n  "output_tail": "y",\n  "elided_chars": '
        '28999,\n  "warning": "Output too long."\n}',
        ("truncated", "28,999 characters left out", 0),
    ),
    (
        "Cline",
        "run_commands",
        json.dumps(
            [{"query": "ls", "result": f"{HALF}\n[... output truncated: 91234 chars total. Refine it ...]\n{HALF}"}]
        ),
        ("truncated", "91,234 characters before", 0),
    ),
    ("Continue", "Bash", f"(previous 120 lines truncated)\n\n{HALF}", ("truncated", "120 lines left out", 0)),
    (
        "Continue",
        "Read",
        f"{HALF}\n\n(4096 characters of /a.py truncated)",
        ("truncated", "4,096 characters left out", 0),
    ),
    (
        "Crush",
        "bash",
        f"{HALF}\n\n... [120 lines truncated] ...\n\n{HALF}\n\n<cwd>/home/u</cwd>",
        ("truncated", "120 lines left out", 0),
    ),
    (
        "Cline",
        "read_files",
        json.dumps(
            [
                {
                    "query": "/a",
                    "result": f"{HALF}\n\n[Showing lines 1-2000 of 50000+ lines. Use start_line/end_line to read other "
                    "sections.]",
                    "success": True,
                }
            ]
        ),
        ("truncated", "50000+ lines before", 0),
    ),
    (
        "goose",
        "shell",
        f"{HALF}[Output exceeded 2000 line limit (9000 lines total). Full output saved to /tmp/stdout-0. Read it.]\n"
        "[Output exceeded 2000 line limit (9000 lines total). Full output saved to /tmp/output-0. Read it.]",
        ("truncated", "9,000 lines before", 0),
    ),
    (
        "Continue",
        "Read",
        "Error executing tool Read: File is too large to read: a.txt (348,894 characters, 60,001 lines). Maximum "
        "allowed: 100,000 characters or 5,000 lines. Consider using terminal commands.",
        ("masked", "348,894 characters before", 0),
    ),
    (
        "goose",
        "shell",
        "The response returned from the tool call was larger (250000 characters) and is stored in the "
        "file which you can use: /x",
        ("masked", "250,000 characters before", 0),
    ),
]
