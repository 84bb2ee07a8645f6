"""Type aliases for values that enter or leave as JSON.

Use them where the shape is not known to the code: arguments before validation, answers just before
they are encoded, documents of users. A value whose fields are known is a dataclass or a TypedDict.

`Json`        any JSON value; check its type before use
`JsonObject`  an object with string keys: arguments of a call, a row of an answer
`JsonArray`   an array of any JSON values

The members are `Any`, not a recursive union: mypy would ask for a cast at every step into a
document, and the casts would hide more mistakes than the union finds.
"""

from __future__ import annotations

from typing import Any

Json = Any
JsonObject = dict[str, Any]
JsonArray = list[Any]
