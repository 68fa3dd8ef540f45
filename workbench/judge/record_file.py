"""The record of all judgements of a conversation: a file of JSON lines to which everything is appended.

It has the probes, the prompts, the summaries that were judged, every answer and every grade. A judgement is worked out
from it, so that an interrupted one goes on where it stopped, and a grade that the user changed stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.foreign_files import read_regular_file
from workbench.config.paths import data_dir
from workbench.config.text import utf8_json
from workbench.config.writing import append_line
from workbench.judge.values import HAND, KINDS, RULE, Grade, Probe, ProbeAnswer

FOLDER = "judgements"
FULL = "full"
"""The context of an answer that was given with everything at hand."""
LARGEST = 256 * 1024 * 1024
"""Bytes of a record that is read."""


class JudgeRecord:
    """What is known about one conversation."""

    def __init__(self, key: str, folder: Path | None = None) -> None:
        """`key`: the hash of the conversation's text."""
        self.path = (folder or data_dir() / FOLDER) / f"{key}.jsonl"
        self.probes: dict[str, Probe] = {}
        self.prompts: dict[str, str] = {}
        """By hash: the text."""
        self.summaries: dict[str, tuple[str, str]] = {}
        """By what they were made from: text and author."""
        self.asked_for: set[str] = set()
        """The models, with the hash of the prompt, that have written probes already."""
        self.requests: list[Mapping[str, Any]] = []
        """What each request used and cost."""
        self._answers: dict[tuple[str, str, str, str, int], ProbeAnswer] = {}
        self._grades: dict[str, dict[str, Grade]] = {}
        """By answer and author."""
        self.problem = ""
        """Why nothing is kept, in words; empty if everything is. A judgement is possible all the same."""
        self._read_lines()

    # What is known

    def answer_of(self, probe: str, context: str, model: str, prompt: str, attempt: int = 1) -> ProbeAnswer | None:
        """An answer that was given."""
        return self._answers.get((probe, context, model, prompt, attempt))

    def grade_of(self, answer: str, judge: str) -> Grade | None:
        """The grade of an answer: the user's, else the rule's, else this judge's."""
        found = self._grades.get(answer, {})
        return found.get(HAND) or found.get(RULE) or found.get(judge)

    # What is added

    def add_probe(self, probe: Probe) -> None:
        if probe.id not in self.probes:
            self.probes[probe.id] = probe
            self._append("probe", {"id": probe.id, **probe._asdict()})

    def add_prompt(self, name: str, hashed: str, text: str) -> None:
        if hashed not in self.prompts:
            self.prompts[hashed] = text
            self._append("prompt", {"hash": hashed, "name": name, "text": text})

    def add_summary(self, key: str, text: str, made_by: str) -> None:
        """Note a summary that was written to be judged."""
        self.summaries[key] = (text, made_by)
        self._append("summary", {"key": key, "text": text, "made_by": made_by})

    def add_written(self, model: str, prompt: str) -> None:
        """Note that a model has written its probes."""
        self.asked_for.add(f"{model} {prompt}")
        self._append("written", {"model": model, "prompt": prompt})

    def add_answer(self, answer: ProbeAnswer) -> None:
        self._keep_answer(answer)
        self._append("answer", answer._asdict())

    def add_grade(self, grade: Grade) -> None:
        """Note a grade. A later one of the same author replaces it; a grade by rule that is known is not repeated."""
        if self._grades.get(grade.answer, {}).get(grade.by) != grade:
            self._keep_grade(grade)
            self._append("grade", grade._asdict())

    def add_request(self, purpose: str, model: str, tokens: int, completion: int, cost: float | None) -> None:
        """Note what a request used and cost."""
        used = {"purpose": purpose, "model": model, "tokens": tokens, "completion": completion, "cost": cost}
        self.requests.append(used)
        self._append("request", used)

    # The file

    def _append(self, line: str, value: Mapping[str, Any]) -> None:
        if self.problem:
            return
        try:
            append_line(self.path, utf8_json(json.dumps({"v": 1, "line": line, **value}, ensure_ascii=False)))
        except OSError as error:
            self.problem = f"{self.path}: cannot be written: {error.strerror or error}"

    def _read_lines(self) -> None:
        try:
            content = read_regular_file(self.path, limit=LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            self.problem = f"{self.path}: cannot be read: {error.strerror or error}"
            return
        for line in content.splitlines():
            try:
                value = json.loads(line)
                self._read_line(value)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # half a line of a program that was killed, or somebody else's

    def _read_line(self, value: Any) -> None:
        if not isinstance(value, dict) or value.get("v") != 1:
            return
        match value.get("line"):
            case "probe" if value["kind"] in KINDS and value["match"] in ("value", "words"):
                expected, events = (tuple(map(str, value[name])) for name in ("expected", "events"))
                question, made_by = str(value["question"]), str(value["made_by"])
                probe = Probe(value["kind"], question, expected, value["match"], events, made_by)
                if expected:
                    self.probes[probe.id] = probe
            case "prompt":
                self.prompts[str(value["hash"])] = str(value["text"])
            case "summary":
                self.summaries[str(value["key"])] = (str(value["text"]), str(value["made_by"]))
            case "written":
                self.asked_for.add(f"{value['model']} {value['prompt']}")
            case "answer":
                of, context, model, text, prompt = (
                    str(value[name]) for name in ("probe", "context", "model", "text", "prompt")
                )
                self._keep_answer(ProbeAnswer(of, context, model, int(value["attempt"]), text, prompt))
            case "grade" if 0 <= float(value["score"]) <= 1:
                by, why, prompt = (str(value[name]) for name in ("by", "why", "prompt"))
                grade = Grade(str(value["probe"]), str(value["answer"]), float(value["score"]), by, why, prompt)
                self._keep_grade(grade)
            case "request":
                self.requests.append(
                    {name: value[name] for name in ("purpose", "model", "tokens", "completion", "cost")}
                )

    def _keep_answer(self, answer: ProbeAnswer) -> None:
        key = (answer.probe, answer.context, answer.model, answer.prompt, answer.attempt)
        self._answers[key] = answer

    def _keep_grade(self, grade: Grade) -> None:
        self._grades.setdefault(grade.answer, {})[grade.by] = grade
