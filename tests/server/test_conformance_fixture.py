"""The tools that the official conformance suite asks for are still served; `make hosts` runs the suite itself."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from tests.conformance_mcp.fixture import REPLIES, FixtureService


@pytest.fixture
def service(tmp_path):
    return FixtureService(Workspace(tmp_path), ["workspace"])


def test_the_tools_are_listed(service):
    listed = service.handler("tools/list")({}, "", CallContext())["tools"]

    assert set(REPLIES) < {tool["name"] for tool in listed}


@pytest.mark.parametrize("name", sorted(REPLIES.keys() - {"test_tool_with_progress"}))
def test_a_tool_is_answered(service, name):
    result = service.handler("tools/call")({"name": name, "arguments": {}}, "", CallContext())

    assert result["isError"] is (name == "test_error_handling")
