"""Claude Code: the JSON lines of a session, or what its command prints as `stream-json`.

- A session is `~/.claude/projects/-PATH/ID.jsonl`, a sub-agent `ID/subagents/agent-*.jsonl` next to it.
- A line has a `type`, a `uuid` and its `sessionId`. `user` and `assistant` have an Anthropic `message`; one reply of
  the model is several lines with the same `message.id`, one per block, and that id is the reply's. Results of its first
  calls may come between the lines of a reply; the reader moves them after it, as they are sent.
- Blocks: `text`, `image`, `thinking`, `tool_use` (`id`, `name`, `input`), and in user messages `tool_result`
  (`tool_use_id`, `content`, `is_error`). Calls and results are paired by id.
- `message.usage` is on every line of a reply; the last one counts. Cached tokens are not part of `input_tokens`.
- From 2.1.282 on every request of the conversation is in the file: `claude_requests` rebuilds it, with system prompt
  and tools. Earlier files have neither of the two; some have both in a `prompt_snapshot`.
- An `attachment` is what the program put into the request. Later versions have the text (`rendered`, `renderedRole`);
  text `rendered` for the role system is sent without the tags around it. A message typed while the agent worked is an
  attachment too (`queued_command`). Without `rendered`, `claude_attachments` has the wording for a file, a memory and
  others; the rest is kept as unknown.
- `compact_boundary` with the user message after it that is marked `isCompactSummary` is a compaction of everything
  before the boundary, except for the `preservedSegment` of some versions; it has the tokens before, and later after. If
  the segment is anchored at the boundary itself ("summarize from here"), only what follows it is replaced. If the file
  begins at the boundary, the compaction replaces what is not in the file. A summary without a boundary and with nothing
  before it, as in a session that continues another file, is a user message. A `microcompact_boundary` names the calls
  whose results were cleared: they are masked from there on.
- `message.context_management` has what Anthropic itself cleared in the request of a reply (`context_edits`).
- Each session of a file is its own conversation, unless its first line continues a line of another. Lines of
  sub-agents (`isSidechain`) are conversations after them, one per `agentId`, or per root if they have none; so are
  those in files next to the session (`claude_sub_agents`). The session records their requests and what they cost.
- An error of the API that was shown as a reply (`isApiErrorMessage`) is a failure. `summary`, `custom-title` and
  `ai-title` are titles.
- `system` lines are for the screen. `local_command` (the output of `/model`, for example) is sent as the user's from
  2.1.70 on, and was not sent up to 2.1.50. An `api_error` is a failure.
- A message of the user with the same `parentUuid` as an earlier one: the user went back ("rewind"). Everything from the
  earlier one on is excluded. Lines that come before their parent are moved after it: the first reply may be one.
- Counted, not kept: progress, snapshots of files, durations and hooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from workbench.config.errors import WrongCall
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.claude_conversations import ClaudeConversations
from workbench.traces.claude_fields import SessionLine, session_lines, surveyed_lines
from workbench.traces.claude_lines import NOISE, ClaudeCodeReader
from workbench.traces.claude_sub_agent_files import claude_sub_agent_files
from workbench.traces.claude_sub_agents import SubAgentFiles, lines_in_time, read_claude_sub_agents, requests_in
from workbench.traces.claude_survey import ClaudeSurvey, lines_without_survey
from workbench.traces.parents import behind_parents
from workbench.traces.reading import Document, Located
from workbench.wire.values import dict_in, text_in

NAME = format_names.CLAUDE_CODE


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Claude Code's."""
    return any(_is_line(value) for value in first_objects(document))


def _is_line(value: dict[str, Any]) -> bool:
    kind = text_in(value, "type")
    # Cursor prints lines with a `session_id` too, but names neither the call they belong to nor its tools.
    ours = not {"sessionId", "uuid", "parent_tool_use_id", "tools"}.isdisjoint(value)
    if kind in ("user", "assistant"):
        return "content" in dict_in(value, "message") and ours
    if kind == "system":
        return ours and "subtype" in value and "systemPayload" not in value  # Qwen Code's lines have it
    return (kind in NOISE and ours) or (kind == "summary" and "leafUuid" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The sessions, then their sub-agents."""
    entries = log_entries(document, text)
    has_files = bool(document.path and claude_sub_agent_files(document.path))
    return (None if has_files else _read_once(document, entries)) or _read_surveyed(document, entries)


def _read_once(document: Document, entries: Sequence[Located]) -> list[Recording] | None:
    """The sessions of a file whose lines can be read without a survey of all lines before; None if they cannot."""
    survey = ClaudeSurvey()
    survey.continues = any(text_in(value, "parentUuid") for value in first_objects(document))
    conversations = _conversations(survey)
    for line in lines_without_survey(session_lines(entries), survey):
        conversations.read_line(line)
    return _recordings(conversations, document, survey) if survey.is_plain else None


def _read_surveyed(document: Document, entries: Sequence[Located]) -> list[Recording]:
    survey = ClaudeSurvey()
    survey.add_lines(surveyed_lines(entries))
    moved = [] if survey.is_ordered else behind_parents([*session_lines(entries)], _name, _parent)
    sub_agents = read_claude_sub_agents(document.path, [*survey.sessions]) if document.path else SubAgentFiles()
    survey.add_lines(chain.from_iterable(sub_agents.lines))

    def lines() -> Iterator[SessionLine]:
        own = iter(moved) if moved else session_lines(entries)
        return lines_in_time(own, sub_agents.lines) if sub_agents.lines else own

    survey.kinds |= {agent: kind for agent, kind in sub_agents.kinds.items() if kind}
    asked = requests_in(lines(), survey.kinds) if survey.has_sub_agents else {}
    conversations = _conversations(survey)
    for at, line in enumerate(lines()):
        conversations.read_line(line)
        if asked and at in asked and (session := conversations.session()) is not None:
            session.sub_agent_asked(asked[at])
    return _recordings(conversations, document, survey, sub_agents.broken)


def _conversations(survey: ClaudeSurvey) -> ClaudeConversations[ClaudeCodeReader]:
    return ClaudeConversations(lambda: ClaudeCodeReader(Builder(NAME), survey))


def _recordings(
    conversations: ClaudeConversations[ClaudeCodeReader],
    document: Document,
    survey: ClaudeSurvey,
    broken: Iterable[WrongCall] = (),
) -> list[Recording]:
    """The conversations, the sub-agents' last. `broken`: what could not be read of the sub-agents' files."""
    made = conversations.made
    for reader in islice(made.values(), 1):
        reader.builder.skipped(document.broken)  # known once all lines were read
    found = sorted(made.items(), key=lambda item: item[0][1] != "")
    if found:
        found[0][1].builder.skipped(broken)
    talks = [(reader.builder.has_talk, agent, reader.finish()) for (_, agent), reader in found]
    for _, agent, bodies in talks:
        bodies.sub_agent = survey.kinds.get(agent, agent)
    return [bodies for has_talk, _, bodies in talks if has_talk] or [bodies for _, _, bodies in talks]


def _name(line: SessionLine) -> str:
    return line.uuid


def _parent(line: SessionLine) -> str:
    return line.parent or ""
