"""``/_shardlane/faults``: see, set and clear the fault plan of a running server."""

from __future__ import annotations

from typing import Any

import orjson

from shardlane_lab.local_kinesis.faults import FaultPlan, fault_plan
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.wire.reply import Reply, WireRequest

FAULTS_PATH = "/_shardlane/faults"


def is_admin(request: WireRequest) -> bool:
    return request.path.startswith("/_shardlane/")


def administer(model: Kinesis, request: WireRequest, reply: Reply) -> None:
    """GET shows the plan, PUT replaces it (JSON, as in a fault file), DELETE clears it."""
    if request.path != FAULTS_PATH:
        _say(reply, 404, {"message": f"There is only {FAULTS_PATH} here."})
    elif request.method == "GET":
        _say(reply, 200, model.faults.as_dict())
    elif request.method == "DELETE":
        model.faults = FaultPlan()
        _say(reply, 200, model.faults.as_dict())
    elif request.method == "PUT":
        _replace(model, request, reply)
    else:
        _say(reply, 405, {"message": "GET shows the faults, PUT replaces, DELETE clears them."})


def _replace(model: Kinesis, request: WireRequest, reply: Reply) -> None:
    try:
        model.faults = fault_plan(orjson.loads(request.body))
    except ValueError as error:  # JSONDecodeError is one
        _say(reply, 400, {"message": str(error)})
    else:
        _say(reply, 200, model.faults.as_dict())


def _say(reply: Reply, status: int, values: dict[str, Any]) -> None:
    body = orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    reply.send(status, {"content-type": "application/json"}, body)
