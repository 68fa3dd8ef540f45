"""What a call does, from the tool's name and its arguments: a table of our own tools and other agents'."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from workbench.config.text import counted
from workbench.context.text_changes import changed_lines, patch_changes

MOST = 200
"""Characters of a line's most important part; each other argument gets a quarter."""
Values = Mapping[str, Any]
"""Arguments by their names in lower case and without underscores: `filePath` and `file_path` are one."""


class CallLine(NamedTuple):
    """A call in parts, so that a line that is too wide can be cut where it loses the least."""

    verb: str
    subject: str = ""
    """The path, command, pattern or title."""
    rest: str = ""
    """`+12 −3`, `1–80`, `in src/`."""
    place: str = ""
    """The folder of a command, while the line is made; then it is part of the rest."""
    is_path: bool = False
    """Whether both ends of the subject are important, so that it is cut in the middle."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.subject, self.rest)))


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def named_values(arguments: Mapping[Any, Any]) -> Values:
    """Arguments with their names in the form used here."""
    return {_plain(key): value for key, value in arguments.items()}


def cut_text(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


# Values by their names


def _first(values: Values, keys: tuple[str, ...]) -> str:
    """The first of them that is a text, or a list of texts."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return str(value[0]) + (f" and {len(value) - 1} more" if len(value) > 1 else "")
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12:
            return str(value)
    return ""


def _number(values: Values, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, (int, float)) and abs(value) < 10**12:
            return int(value)
        if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value):
            return int(value)
    return None


def _dicts(values: Values, keys: tuple[str, ...]) -> list[Values]:
    """The objects of the first list, or the one object, under any of these names; of all values if none is named."""
    for key in keys or tuple(values):
        value = values.get(key)
        found = value if isinstance(value, list) else [value]
        if objects := [named_values(each) for each in found if isinstance(each, dict)]:
            return objects
    return []


_PATH = (
    *("filepath", "path", "absolutepath", "targetfile", "notebookpath", "filename", "file", "relativeworkspacepath"),
    *("dirpath", "directory", "dir", "folder", "paths", "filepaths", "include"),
)
_FOLDER = ("path", "dirpath", "directory", "dir", "folder", "file", "filepath", "searchpath")
_GLOB = ("glob", "include", "includepattern", "filepattern", "includes")
_COMMAND = ("command", "cmd", "commands", "script", "code", "input", "chars")
_WORKDIR = ("workdir", "cwd", "workingdirectory", "dirpath", "directory")
_CONTENT = ("content", "filetext", "contents", "text", "codeedit", "newsource", "newstr", "inserttext", "code")
_OLD = ("oldstring", "oldstr", "oldtext", "old", "search", "oldcontent")
_NEW = ("newstring", "newstr", "newtext", "new", "replace", "replacement", "newsource", "newcontent")
_PATCH = ("patch", "patchtext", "diff", "input", "codeedit")
_PATTERN = ("pattern", "regex", "query", "queries", "searchterm", "filename", "globpattern", "globpatterns")
_TITLE = (
    *("title", "subject", "description", "name", "summary", "query", "question", "queries", "skill", "skillname"),
    *("command", "thought", "fact", "intent", "message", "result", "plan", "prompt", "agentname", "id"),
)
_DONE = ("completed", "complete", "done", "finished", "cancelled", "canceled", "deleted")
_TELLING = (
    *("path", "filepath", "filename", "file", "command", "cmd", "query", "pattern", "url", "uri", "title", "name"),
    *("subject", "question", "description", "text", "message", "prompt", "input", "id", ""),
)


_CD = re.compile(r"""\s*cd (?P<place>"[^"\n]+"|'[^'\n]+'|[^\s;&|"']+) && """)


# What a kind of tool does, from its arguments


def _read_call(values: Values) -> CallLine:
    files = _dicts(values, ("files", "filepaths"))
    if files:
        made = _read_call(files[0])
        more = f"and {len(files) - 1} more" if len(files) > 1 else ""
        return made._replace(rest=" ".join(filter(None, (made.rest, more))))
    return CallLine("", _first(values, _PATH), _lines(values), is_path=True)


def _read_from_zero(values: Values) -> CallLine:
    """Gemini's and Qwen's `read_file` count an offset from 0; ours has the same name, but takes a `path`."""
    offset = _number(values, ("offset",))
    return _read_call(values if offset is None or "path" in values else {**values, "offset": offset + 1})


def _lines(values: Values) -> str:
    """`1–80`, if only some lines are read."""
    span = values.get("viewrange")
    if isinstance(span, list) and len(span) == 2:
        first, last = _number({"": span[0]}, ("",)), _number({"": span[1]}, ("",))
    else:
        first = _number(values, ("startline", "startlineoneindexed", "linenumber", "offset", "lineoffset"))
        last = _number(values, ("endline", "endlineoneindexedinclusive"))
        many = _number(values, ("limit", "nlines"))
        last = (first or 1) + many - 1 if last is None and many else last
    if first is None and last is None:
        return ""
    return f"{first or 1}–{last if last and last > 0 else ''}"


def _write(values: Values) -> CallLine:
    content = _first(values, _CONTENT)
    rest = counted(len(content.splitlines()), "line") if content else ""
    return CallLine("", _first(values, _PATH), rest, is_path=True)


def _edit(values: Values) -> CallLine:
    path = _first(values, _PATH)
    pieces = _dicts(values, ("edits", "edit", "replacements", "replacementchunks", "operations")) or [values]
    pairs = [(_first(piece, _OLD), _first(piece, _NEW)) for piece in pieces]
    if not any(old or new for old, new in pairs):
        return _patch(values) if _first(values, _PATCH) else CallLine("", path, "", is_path=True)
    added, removed = map(sum, zip(*(changed_lines(old, new) for old, new in pairs), strict=True))
    return CallLine("", path, _counts(added, removed), is_path=True)


def _patch(values: Values) -> CallLine:
    paths, added, removed = patch_changes(_first(values, _PATCH) or _first(values, _COMMAND))
    own = _first(values, _PATH)
    subject = own or (paths[0] if paths else "")
    more = f"and {len(paths) - 1} more" if len(paths) > 1 and not own else ""
    return CallLine("Edit", subject, " ".join(filter(None, (more, _counts(added, removed)))), is_path=True)


def _insert(values: Values) -> CallLine:
    return CallLine("", _first(values, _PATH), _counts(len(_first(values, _CONTENT).splitlines()), 0), is_path=True)


def _counts(added: int, removed: int) -> str:
    return " ".join([f"+{added:,}"] * bool(added) + [f"−{removed:,}"] * bool(removed))


def command_text(values: Values) -> str:
    """The whole command of a call that runs one."""
    action = values.get("action")
    inner = named_values(action) if isinstance(action, dict) else values
    command = next((inner[key] for key in _COMMAND if inner.get(key)), "")
    if isinstance(command, list) and all(isinstance(each, str) for each in command):
        is_shell = len(command) == 3 and command[1].startswith("-") and command[1].endswith("c")
        command = command[-1] if is_shell else " ".join(command)
    return command if isinstance(command, str) else _short(command)


def file_named(values: Values) -> str:
    """The file in a call's arguments."""
    return _first(values, _PATH)


def command_folder(values: Values) -> str:
    """The folder in which a command should run; empty if not given."""
    return _first(values, _WORKDIR)


def _command(values: Values) -> CallLine:
    text = command_text(values)
    if "*** Begin Patch" in text[:400] and "apply_patch" in text[:400]:
        return _patch({"input": text})
    moved = _CD.match(text)
    place = moved["place"].strip("\"'") if moved else command_folder(values)
    lines = [line for line in text[moved.end() if moved else 0 :].splitlines() if line.strip()]
    return CallLine("", lines[0] + (" …" if len(lines) > 1 else "") if lines else "", place=place)


def _search(values: Values) -> CallLine:
    pattern = _first(values, _PATTERN)
    glob = _first(values, _GLOB)
    return CallLine("", f'"{pattern}"' if pattern else "", f"in {glob}" if glob else "", _first(values, _FOLDER))


def _list(values: Values) -> CallLine:
    return CallLine("", _first(values, _PATH) or ".", _first(values, ("glob", "pattern")), is_path=True)


def _fetch(values: Values) -> CallLine:
    url = _first(values, ("url", "urls", "uri")) or next(iter(re.findall(r"https?://\S+", _first(values, _TITLE))), "")
    try:
        parts = urlsplit(url)
    except ValueError:
        return CallLine("", url)
    return CallLine("", f"{parts.netloc}{parts.path.rstrip('/')}" if parts.netloc else url, is_path=True)


def _titled(values: Values) -> CallLine:
    questions = _dicts(values, ("questions",))
    title = _first(questions[0] if questions else values, _TITLE)
    return CallLine("", f'"{title}"' if title else "")


def _todos(values: Values) -> CallLine:
    steps = [each for each in _dicts(values, ()) if "status" in each or "state" in each]
    done = sum(str(each.get("status", each.get("state"))).lower() in _DONE for each in steps)
    many = len(steps)
    if not steps:
        text = " ".join(each for each in values.values() if isinstance(each, str))
        done, many = len(re.findall(r"\[[xX]\]", text)), len(re.findall(r"\[[ xX~-]\]", text))
    return CallLine("", f"{done} of {many} done") if many else _titled(values)


def _task_change(values: Values) -> CallLine:
    number = _first(values, ("taskid", "id"))
    return CallLine("", f"#{number}" if number else "", _first(values, ("status",)))


def unknown_call_line(arguments: Mapping[Any, Any]) -> CallLine:
    """For an unknown tool: the most important argument as it is, and some others by name."""
    keys = {_plain(key): key for key in arguments}
    best = next((keys[key] for key in _TELLING if keys.get(key) is not None and arguments[keys[key]]), None)
    if len(arguments) == 1:
        best = next(iter(arguments))
    others = [(key, value) for key, value in arguments.items() if key != best]
    named = [f"{key}={cut_text(_short(value), MOST // 4)}" for key, value in others[:3]]
    return CallLine("", "" if best is None else _short(arguments[best]), " ".join(named))


def _short(value: object) -> str:
    if isinstance(value, str):
        return value[: 2 * MOST]
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[: 2 * MOST]
    except (ValueError, TypeError, RecursionError):
        return type(value).__name__


class ToolKind(NamedTuple):
    """How the calls of a tool are shown."""

    verb: str
    describe: Callable[[Values], CallLine]


_KNOWN: tuple[tuple[str, Callable[[Values], CallLine], str], ...] = (
    ("Read", _read_from_zero, "readfile"),
    ("Read", _read_call, "read readfiles readmanyfiles view viewfile viewimage open openfile notebookread"),
    ("Write", _write, "write writefile writetofile create createfile"),
    ("Edit", _edit, "edit editfile multiedit replace replaceinfile replacestringinfile strreplace strreplacefile"),
    ("Edit", _edit, "searchreplace multireplacestringinfile inserteditintofile notebookedit editor"),
    ("Edit", _patch, "applypatch applydiff patch"),
    ("Insert", _insert, "insert insertcontent"),
    ("Delete", _list, "delete deletefile remove removefile"),
    ("Bash", _command, "bash shell shellcommand execcommand executebash executecommand runcommand runcommands"),
    ("Bash", _command, "runshellcommand runinterminal runterminalcmd localshell localshellcall terminal powershell"),
    ("Input", _command, "writestdin writebash"),
    ("Code", _command, "exec"),
    ("Python", _command, "python ipython executeipythoncell executecode runcode"),
    (
        "Grep",
        _search,
        "grep rg ripgrep grepsearch searchtext searchfilecontent searchfiles search searchdir searchfile",
    ),
    ("Grep", _search, "codebasesearch searchcodebase semanticsearch"),
    ("Find", _search, "glob find findfile filesearch"),
    ("List", _list, "ls list listfiles listdir listdirectory"),
    ("WebFetch", _fetch, "webfetch fetch fetchurl fetchwebpage fetchwebcontent webbrowsergo download"),
    ("WebSearch", _titled, "websearch searchweb googlewebsearch toolsearch"),
    ("Task", _titled, "task agent spawnagent newtask delegate runsubagent"),
    ("Skill", _titled, "skill slashcommand activateskill"),
    ("Think", _titled, "think"),
    ("Ask", _titled, "askuserquestion askuser askfollowupquestion"),
    ("TodoWrite", _todos, "todowrite todo updateplan writetodos settodolist updatetodo managetodolist checklist"),
    ("TodoWrite", _todos, "tasktracker updatetodolist"),
    ("TaskCreate", _titled, "taskcreate"),
    ("TaskUpdate", _task_change, "taskupdate taskget taskstop"),
)
_TOOLS = {name: ToolKind(verb, describe) for verb, describe, names in _KNOWN for name in names.split()}
_EDITORS = frozenset({"strreplaceeditor", "strreplacebasededittool", "fileeditor", "edittool", "texteditor"})
"""Tools whose argument `command` says what they do: view, create, str_replace, insert."""


def known_tool(tool: str, values: Values) -> ToolKind | None:
    """The tool with this name, of any agent; an editor is what its argument `command` says."""
    name = _plain(tool)
    return _TOOLS.get(_plain(values.get("command", "")) if name in _EDITORS else name)
