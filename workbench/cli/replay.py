"""`workbench replay`: send a recorded request again, and compare the answers with the recorded one."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from workbench.cli.asking import NEEDS_YES, require_confirmation
from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.config.text import fit_columns, line_width, print_json, printable, table, width
from workbench.sources.replay_answers import ReplayAnswer, answer_difference, answer_figures, marked_lines
from workbench.sources.replaying import ReplayJob, ReplayWish, prepare_replay, send_replay
from workbench.sources.services import Services

NARROW = 30
"""The least width of an answer that is shown next to others."""
_NUMBER_COLUMNS = frozenset({2, 3, 4, 5, 6, 7})
"""The columns of figures in the table of answers; they are aligned on the right."""


def run_replay(options: argparse.Namespace) -> int:
    """Ask first if it costs something, then send the request and print the answers; the exit code is 1 if none came."""
    wish = ReplayWish(
        number=options.at,
        times=options.n,
        exclude=tuple(options.exclude or ()),
        mask=tuple(options.mask or ()),
        to=options.to,
        send_key=options.send_key,
    )
    with Services() as services:
        job = prepare_replay(services, options_of(options), read_source_with_notes(services, options.source), wish)
        if not options.json:
            print(printable(job.described))
            if options.yes and job.address:
                print(printable(f"it goes to {job.address}"))
        if not options.yes and not job.is_free:
            require_confirmation(job.question, declined="nothing was sent", unasked=f"{job.question} {NEEDS_YES}")
        answers = asyncio.run(_answers(services, job))
        if options.json:
            print_json(_as_json(job, answers))
        else:
            _print(job, answers)
    return 1 if all(answer.problem for answer in answers) else 0


async def _answers(services: Services, job: ReplayJob) -> list[ReplayAnswer]:
    return [answer async for answer in send_replay(services, job)]


# For people


def _print(job: ReplayJob, answers: list[ReplayAnswer]) -> None:
    named = ([("recorded", job.recorded)] if job.recorded else []) + [
        (f"try {number}", answer) for number, answer in enumerate(answers, 1)
    ]
    rows = [
        (
            name,
            *(printable(text) for _, text in answer_figures(answer, None if answer is job.recorded else job.recorded)),
        )
        for name, answer in named
    ]
    header = ("", *(title for title, _ in answer_figures(answers[0], None)))
    print("\n".join(table(header, rows, _NUMBER_COLUMNS, line_width())))
    columns = [_column(name, answer, job.recorded, answers) for name, answer in named if answer.lines]
    if columns:
        print()
        print("\n".join(side_by_side(columns, line_width())))


def _column(name: str, answer: ReplayAnswer, recorded: ReplayAnswer | None, answers: list[ReplayAnswer]) -> list[str]:
    """An answer under its name. In the recorded one, lines that the first try lacks are marked."""
    if answer is recorded:
        answered = [each for each in answers if not each.problem]
        return [name, *marked_lines(answer, answered[0] if answered else None, "-")]
    return [name, *marked_lines(answer, recorded)]


def side_by_side(columns: list[list[str]], total_width: int) -> list[str]:
    """Texts side by side, each wrapped in its own column; one below the other if the terminal is too narrow."""
    column_width = (total_width - 3 * (len(columns) - 1)) // len(columns) if total_width else 0
    if column_width < NARROW:
        return [line for column in columns for line in (*column, "")][:-1]
    wrapped = [[part for line in column for part in _wrapped(line, column_width)] for column in columns]
    height = max(map(len, wrapped))
    padded = [[*lines, *[""] * (height - len(lines))] for lines in wrapped]
    return [
        " │ ".join(line + " " * (column_width - width(line)) for line in lines).rstrip()
        for lines in zip(*padded, strict=True)
    ]


def _wrapped(line: str, most: int) -> list[str]:
    made = []
    while width(line) > most:
        head = fit_columns(line, most).removesuffix("…")
        cut = head.rfind(" ") if head.rfind(" ") > most // 2 else len(head)
        made.append(line[:cut])
        line = "  " + line[cut:].lstrip()
    return [*made, line]


# For programs


def _as_json(job: ReplayJob, answers: list[ReplayAnswer]) -> dict[str, Any]:
    return {
        "request": job.number,
        "dialect": job.dialect,
        "model": job.model,
        "excluded": sorted(job.changes.exclude),
        "masked": sorted(job.changes.mask),
        "tokens": job.tokens,
        "recorded": None if job.recorded is None else _answer_json(job.recorded),
        "answers": [
            {
                **_answer_json(answer),
                "same_words": None
                if job.recorded is None or answer.problem
                else round(answer.likeness(job.recorded), 4),
                "diff": answer_difference(answer, job.recorded),
            }
            for answer in answers
        ],
    }


def _answer_json(answer: ReplayAnswer) -> dict[str, Any]:
    return {
        "model": answer.model,
        "text": answer.text,
        "calls": [{"tool": tool, "arguments": arguments} for tool, arguments in answer.calls],
        "finish": answer.finish or None,
        "prompt": answer.prompt,
        "cached": answer.cached,
        "completion": answer.completion,
        "cost": answer.cost,
        "seconds": answer.seconds,
        "problem": answer.problem or None,
    }
