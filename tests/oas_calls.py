"""Calls of openapi tools without a server, and small documents to call them on."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.toolset import toolset


class Tools:
    """The toolset behind the pipeline, as a client sees it."""

    def __init__(self, service: OpenApiService | None = None) -> None:
        self.service = service or OpenApiService()
        self.registry = Registry([toolset(lambda: self.service)])
        self.pipeline = Pipeline(self.registry)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        outcome = asyncio.run(self.pipeline.run(Call(tool, arguments, local_user())))
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        return to_json(outcome.output)

    def error(self, tool: str, /, **arguments: Any) -> CommonplaceError:
        outcome = asyncio.run(self.pipeline.run(Call(tool, arguments, local_user())))
        assert outcome.error is not None, f"{tool} succeeded: {outcome.output}"
        return outcome.error


def content(data: Any) -> dict[str, str]:
    return {"content": data if isinstance(data, str) else orjson.dumps(data).decode()}


def document(data: Any) -> ApiDocument:
    return load(data if isinstance(data, str) else orjson.dumps(data))


def minimal(version: str = "3.0.3", **parts: Any) -> dict[str, Any]:
    """The smallest valid document of a version, with parts added."""
    head = {"swagger": version} if version == "2.0" else {"openapi": version}
    return {**head, "info": {"title": "Test", "version": "1"}, "paths": {}, **deepcopy(parts)}


def operation(**parts: Any) -> dict[str, Any]:
    return {"summary": "does it", "responses": {"200": {"description": "fine"}}, **parts}


def load_error(text: str | bytes, **options: Any) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as caught:
        load(text, **options)
    return caught.value
