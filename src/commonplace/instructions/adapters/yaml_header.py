"""Write front matter that every YAML reader understands, on one line for each value."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping

from commonplace.kernel.json_types import Json

LEVELS = 20
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*\Z", re.ASCII)
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def write_header(fields: Mapping[str, Json]) -> str:
    """Write a front matter block; strings are quoted, lists have a line for each item."""
    lines = ["---"]
    for key, value in fields.items():
        name = key if _PLAIN_KEY.match(key) else _flow(key)
        if isinstance(value, list) and value:
            lines += [f"{name}:", *(f"  - {_flow(item)}" for item in value)]
        else:
            lines.append(f"{name}: {_flow(value)}")
    return "\n".join([*lines, "---", ""])


def _flow(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(value: Json, levels: int = LEVELS) -> Json:
    """Turn what YAML can hold into JSON: dates, sets and the like become text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**53) < value < 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if levels and isinstance(value, dict):
        return {str(plain(key, 0)): plain(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list | tuple):
        return [plain(item, levels - 1) for item in value]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return str(value)[:1_000]
