"""Input schemas of file tools with the limits of this server's configuration."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, create_model

from commonplace.dispatch.tool import Tool
from commonplace.files.tools.finding import FileSearchInput
from commonplace.files.tools.reading import FileListInput
from commonplace.files.tools.writing import FileWriteInput
from commonplace.kernel.settings import FilesSettings


def with_limits(tools: tuple[Tool, ...], settings: FilesSettings) -> tuple[Tool, ...]:
    """Return the tools; file_search, file_list and file_write describe the configured limits."""
    search = settings.search
    chunks = Field(
        default=min(search.limit_default, search.limit_max),
        description=f"At most {search.limit_max}.",
    )
    entries = Field(
        default=min(settings.list_limit_default, settings.list_limit_max),
        description=f"At most {settings.list_limit_max}. has_more tells whether there are more.",
    )
    content = Field(
        description=f"Text, at most {settings.max_payload_bytes} bytes; append more. A file holds "
        f"up to {settings.max_file_bytes}. Encode binary data first, for example as Base64."
    )
    inputs = {
        "file_search": create_model(
            "FileSearchInput", __base__=FileSearchInput, limit=(int, chunks)
        ),
        "file_list": create_model("FileListInput", __base__=FileListInput, limit=(int, entries)),
        "file_write": create_model(
            "FileWriteInput", __base__=FileWriteInput, content=(str, content)
        ),
    }
    return tuple(
        replace(tool, input=inputs[tool.name]) if tool.name in inputs else tool for tool in tools
    )
