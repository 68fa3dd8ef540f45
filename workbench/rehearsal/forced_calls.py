"""A call that a client requires, whatever the rules would answer."""

from __future__ import annotations

import json

from workbench.rehearsal.side_requests import schema_instance
from workbench.rehearsal.turns import asked_in
from workbench.wire.answers import WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import CheckedRequest, freeform_json, function_of, tool_name_of


def forced_answer(request: CheckedRequest) -> WrittenAnswer | None:
    """The required call, for the first offered tool, in the simplest form; None if a provider runs all the tools."""
    tool = next((each for each in request.tools if function_of(each).get("name")), None)
    if tool is None:
        return None
    name = tool_name_of(tool)
    if request.is_freeform(name):
        return WrittenAnswer(calls=(WrittenCall(name, freeform_json(asked_in(request))),))
    arguments = schema_instance(function_of(tool).get("parameters") or {"type": "object"}, asked_in(request))
    return WrittenAnswer(calls=(WrittenCall(name, json.dumps(arguments, ensure_ascii=False)),))
