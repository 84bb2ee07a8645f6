"""Recognise an API description by its content, without parsing it."""

from __future__ import annotations

import re

_BLANK = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*(?:[#%][^\n]*|---[ \t\r]*)?\n)*[ \t]*")
_MAPPING = re.compile(rb"""\{|["']?[\w$.-]+["']?[ \t]*:(?:\s|$)""")
_VERSION = re.compile(
    rb"""(?:^|[{,][ \t\r\n]*)["']?(?:openapi|swagger)["']?[ \t]*:\s*["']?[23]\.""", re.MULTILINE
)


def may_be_description(source: bytes) -> bool:
    """Tell whether a text may be an OpenAPI or Swagger description, in JSON or YAML.

    The text must begin as a mapping, and somewhere declare a version as the root of one would.
    Parsing decides; this only spares it for other files. Linear in the length of the text.
    """
    begin = _BLANK.match(source)
    at = begin.end() if begin is not None else 0
    return _MAPPING.match(source, at) is not None and _VERSION.search(source, at) is not None
