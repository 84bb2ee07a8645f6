"""Facade of resources, prompts and completions; the edge turns its answers into MCP results."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.context.offering.calls import ClientCalls
from commonplace.context.offering.completions import complete
from commonplace.context.offering.prompts import PROMPTS, get_prompt
from commonplace.context.offering.resources import (
    TEMPLATES,
    find_fingerprint,
    list_resources,
    read_resource,
)
from commonplace.kernel.json_types import JsonObject


class ContextOffering:
    """Answers by calling tools for the client, so that its permissions apply unchanged."""

    def list_templates(self) -> JsonObject:
        """Return the templates of resources."""
        return {"resourceTemplates": list(TEMPLATES)}

    def list_prompts(self) -> JsonObject:
        """Return the prompts."""
        return {"prompts": [prompt.describe() for prompt in PROMPTS.values()]}

    async def list_resources(self, call: ClientCalls, cursor: str | None) -> JsonObject:
        """Return a page of resources."""
        return await list_resources(call, cursor)

    async def read_resource(self, call: ClientCalls, uri: str) -> JsonObject:
        """Return the content of a resource."""
        return await read_resource(call, uri)

    async def find_fingerprint(self, call: ClientCalls, uri: str) -> str:
        """Return a text that changes with a resource."""
        return await find_fingerprint(call, uri)

    async def get_prompt(
        self, call: ClientCalls, name: str, arguments: Mapping[str, str]
    ) -> JsonObject:
        """Return the messages of a prompt."""
        return await get_prompt(call, name, arguments)

    async def complete(
        self, call: ClientCalls, target: str, argument: str, value: str, given: Mapping[str, str]
    ) -> JsonObject:
        """Return values for an argument."""
        return await complete(call, target, argument, value, given)
