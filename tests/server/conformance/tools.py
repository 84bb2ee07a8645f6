"""The conformance suite's tools.

`toolset` is named by COMMONPLACE_EXTRA_TOOLSETS when the server under test starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Handler, Nothing, RawResult, Tool
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from conformance import rounds
from conformance.features import log_allowed, publish
from conformance.samples import PNG, WAV, resource, text

INTENDED = Code("CONFORMANCE_INTENDED", Kind.INTERNAL, "The tool fails on purpose.")
STEP_SECONDS = 0.05
MISSING_CAPABILITY = -32021


class Prompt(Arguments):
    prompt: str = Field(description="What the model is asked.")


class Message(Arguments):
    message: str = Field(description="What the person is asked.")


class Region(Arguments):
    region: str = Field(description="Where to look.")
    detail: str = Field(default="", description="What else to say.")


class Contact(Arguments):
    model_config = ConfigDict(extra="allow")


def simple_text(context: Context, arguments: Nothing) -> RawResult:
    return _content(text("This is a simple text response for testing."))


def image(context: Context, arguments: Nothing) -> RawResult:
    return _content({"type": "image", "data": PNG, "mimeType": "image/png"})


def audio(context: Context, arguments: Nothing) -> RawResult:
    return _content({"type": "audio", "data": WAV, "mimeType": "audio/wav"})


def embedded_resource(context: Context, arguments: Nothing) -> RawResult:
    return _content(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    )


def several_contents(context: Context, arguments: Nothing) -> RawResult:
    return _content(
        text("Multiple content types test:"),
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        resource(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    )


async def with_logging(context: Context, arguments: Nothing) -> RawResult:
    for number, line in enumerate(
        ("Tool execution started", "Tool processing data", "Tool execution completed")
    ):
        if number:
            await asyncio.sleep(STEP_SECONDS)
        if log_allowed(context.meta.get("mcp"), "info"):
            await context.channel.log("info", line)
    return _content(text("Three lines were logged."))


async def with_progress(context: Context, arguments: Nothing) -> RawResult:
    for done in (0, 50, 100):
        if done:
            await asyncio.sleep(STEP_SECONDS)
        await context.channel.progress(done, 100, f"{done} of 100")
    return _content(text("Progress was reported three times."))


def failing(context: Context, arguments: Nothing) -> RawResult:
    raise CommonplaceError(INTENDED, "This tool intentionally returns an error for testing")


async def sampling(context: Context, arguments: Prompt) -> RawResult:
    asked = {"messages": [{"role": "user", "content": text(arguments.prompt)}], "maxTokens": 100}
    answer = await context.channel.request("sampling/createMessage", asked)
    return _content(text(f"LLM response: {answer['content'].get('text', '')}"))


async def elicitation(context: Context, arguments: Message) -> RawResult:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = await _ask(context, arguments.message, fields, required=["username", "email"])
    return _content(
        text(f"User response: action={answer['action']}, content={answer.get('content')}")
    )


async def elicitation_defaults(context: Context, arguments: Nothing) -> RawResult:
    fields = {
        "name": {"type": "string", "description": "Name", "default": "John Doe"},
        "age": {"type": "integer", "description": "Age", "default": 30},
        "score": {"type": "number", "description": "Score", "default": 95.5},
        "status": {
            "type": "string",
            "description": "Status",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "description": "Verified", "default": True},
    }
    return _completed(await _ask(context, "Check the values offered", fields))


async def elicitation_enums(context: Context, arguments: Nothing) -> RawResult:
    plain = ["option1", "option2", "option3"]
    ordinals = ("First", "Second", "Third")
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": f"value{n}", "title": f"{word} Option"}
                for n, word in enumerate(ordinals, 1)
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": f"value{n}", "title": f"{word} Choice"}
                    for n, word in enumerate(ordinals, 1)
                ]
            },
        },
    }
    return _completed(await _ask(context, "Choose", fields))


async def reconnection(context: Context, arguments: Nothing) -> RawResult:
    """Close the stream under the call: the client must come back for the answer."""
    close = context.meta["mcp"].close_sse_stream
    if close is not None:
        await asyncio.sleep(STEP_SECONDS)
        await close()
        await asyncio.sleep(2 * STEP_SECONDS)
    return _content(text("The answer came over a second stream."))


async def needs_sampling(context: Context, arguments: Nothing) -> RawResult:
    if not rounds.declared(context, "sampling"):
        missing = {"requiredCapabilities": {"sampling": {}}}
        return RawResult(
            {
                "error": {
                    "code": MISSING_CAPABILITY,
                    "message": "The client must declare sampling",
                    "data": missing,
                }
            }
        )
    return _content(text("The client declared sampling."))


async def logs_when_asked(context: Context, arguments: Nothing) -> RawResult:
    await context.channel.log("info", "Logged for whoever asked for a level")
    return _content(text("Done."))


async def tool_change(context: Context, arguments: Nothing) -> RawResult:
    await publish("tools")
    return _content(text("Listeners were told that the tools changed."))


async def prompt_change(context: Context, arguments: Nothing) -> RawResult:
    await publish("prompts")
    return _content(text("Listeners were told that the prompts changed."))


def region(context: Context, arguments: Region) -> RawResult:
    return _content(text(f"region={arguments.region}"))


def contact(context: Context, arguments: Contact) -> RawResult:
    return _content(text("Contact noted."))


CONTACT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
REGION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "detail": {"type": "string"},
    },
    "required": ["region"],
    "additionalProperties": False,
}


def _content(*items: Mapping[str, Any]) -> RawResult:
    return RawResult({"content": list(items)})


def _completed(answer: Mapping[str, Any]) -> RawResult:
    return _content(
        text(f"Elicitation completed: action={answer['action']}, content={answer.get('content')}")
    )


async def _ask(
    context: Context, message: str, fields: Mapping[str, Any], required: list[str] | None = None
) -> Mapping[str, Any]:
    schema = {"type": "object", "properties": fields, "required": required or []}
    answer: Mapping[str, Any] = await context.channel.request(
        "elicitation/create", {"message": message, "requestedSchema": schema}
    )
    return answer


def _tool(
    name: str,
    handler: Handler,
    takes: type[Arguments] = Nothing,
    *,
    session: bool = False,
    schema: Any = None,
) -> Tool:
    title = name.removeprefix("test_").replace("_", " ").capitalize()
    listed = name.replace(
        "_required_result_", "_"
    )  # listed names have 40 characters; the suite's longer ones are aliases
    return Tool(
        listed,
        "conformance",
        title,
        f"{title}, as the conformance suite expects it.",
        takes,
        None,
        handler,
        aliases=(name,) if name != listed else (),
        interactive=session,
        input_schema=schema,
    )


TOOLS = (
    _tool("test_simple_text", simple_text),
    _tool("test_image_content", image),
    _tool("test_audio_content", audio),
    _tool("test_embedded_resource", embedded_resource),
    _tool("test_multiple_content_types", several_contents),
    _tool("test_error_handling", failing),
    _tool("json_schema_2020_12_tool", contact, Contact, schema=CONTACT_SCHEMA),
    _tool("test_tool_with_logging", with_logging, session=True),
    _tool("test_tool_with_progress", with_progress),
    _tool("test_sampling", sampling, Prompt, session=True),
    _tool("test_elicitation", elicitation, Message, session=True),
    _tool("test_elicitation_sep1034_defaults", elicitation_defaults, session=True),
    _tool("test_elicitation_sep1330_enums", elicitation_enums, session=True),
    _tool("test_reconnection", reconnection, session=True),
    _tool("test_missing_capability", needs_sampling, session=True),
    _tool("test_logging_tool", logs_when_asked, session=True),
    _tool("test_trigger_tool_change", tool_change, session=True),
    _tool("test_trigger_prompt_change", prompt_change, session=True),
    _tool("test_region_header", region, Region, session=True, schema=REGION_SCHEMA),
    *(_tool(name, handler, session=True) for name, handler in rounds.TOOLS.items()),
)


def toolset() -> Toolset:
    names = frozenset(name for tool in TOOLS for name in (tool.name, *tool.aliases))
    return Toolset(
        "conformance",
        "Fixtures of the conformance suite.",
        names,
        frozenset(),
        lambda: TOOLS,
        lambda: (INTENDED,),
    )
