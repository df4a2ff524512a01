"""Files as MCP resources: reads by URI, and completions of paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.escape import valid_text
from eyespan.extras.resources import resource
from eyespan.server.audit_trail import AuditTrail
from eyespan.server.mcp_names import INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from eyespan.server.service import Handler, charge_json
from eyespan.tokens import estimate
from eyespan.workspace import Workspace

RESOURCE_TEMPLATE = "file:///{+path}{?start,limit}"
TEMPLATE = {
    "uriTemplate": RESOURCE_TEMPLATE,
    "name": "file",
    "title": "A file of the workspace",
    "description": "path: absolute, or relative to the first root. start and limit: a range of lines, counted "
    "from 1. Text files are returned as text, all others as base64.",
}


class Resources:
    """The files of one workspace, for one service."""

    def __init__(self, workspace: Workspace, trail: AuditTrail, max_result_bytes: int | None) -> None:
        self._workspace = workspace
        self._trail = trail
        self._max_result_bytes = max_result_bytes
        self.handlers: dict[str, Handler] = {
            "resources/list": lambda params, caller, context: {"resources": []},
            "resources/templates/list": lambda params, caller, context: {"resourceTemplates": [TEMPLATE]},
            "resources/read": self.read,
            "completion/complete": self.complete,
        }

    def read(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Answer `resources/read`. Raises: RpcError, and WouldBlock if the context may not block."""
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "uri must be a string")
        with self._trail.noting(self._workspace.engine, context, caller=caller, dialect="resource") as noted:
            roots = self._workspace.roots
            try:
                contents = resource.read(noted.recorder, roots, uri, context, self._max_result_bytes)
            except ReadError as error:
                noted.code = error.code
                raise RpcError(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None
            text = contents.get("text", "")
            noted.size_bytes = len(text.encode()) if "text" in contents else len(contents["blob"])
            noted.tokens = 0 if self._trail.log is None else estimate(text)
        try:
            charge_json(contents, context)
        except ReadError as error:
            raise RpcError(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None
        return {"contents": [contents]}

    def complete(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Answer `completion/complete`. Raises: RpcError, and WouldBlock if the context may not block."""
        ref, argument = params.get("ref"), params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            raise RpcError(INVALID_PARAMS, "ref and argument must be objects")
        if ref.get("type") != "ref/resource" or ref.get("uri") != RESOURCE_TEMPLATE:
            raise RpcError(INVALID_PARAMS, f"only the template {RESOURCE_TEMPLATE} has completions")
        value = argument.get("value")
        if not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, "argument.value must be a string")
        if argument.get("name") != "path":
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
        engine = self._workspace.engine
        with self._trail.noting(engine, context, caller=caller, dialect="completion", path=value) as noted:
            completion = resource.complete(noted.recorder, value, context)
            noted.names += completion["values"]
        return {"completion": completion}
