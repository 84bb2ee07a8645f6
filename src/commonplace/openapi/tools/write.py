"""The tools that make documents and code."""

from __future__ import annotations

from commonplace.dispatch.tool import Tool
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.convert import convert_tool
from commonplace.openapi.tools.fix import fix_tool
from commonplace.openapi.tools.generate import generate_tool
from commonplace.openapi.tools.join import bundle_tool, join_tool
from commonplace.openapi.tools.overlay import overlay_tools


def write_tools(service: OpenApiService) -> list[Tool]:
    return [
        fix_tool(service),
        convert_tool(service),
        join_tool(service),
        *overlay_tools(service),
        generate_tool(service),
        bundle_tool(service),
    ]
