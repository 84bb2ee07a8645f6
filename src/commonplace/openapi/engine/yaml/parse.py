"""YAML text into plain JSON values: YAML 1.2 core rules, string keys, merge keys expanded,
hostile input refused.

yaml-rs does the parsing. What it leaves open is done here: it recurses once per block level (and
dies), it takes `1_000` and `0b1` for integers, it keeps non-string keys, and it does not expand
`<<`.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml_rs

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.errors import SPEC_SYNTAX, SPEC_TOO_DEEP, SPEC_TOO_LARGE
from commonplace.openapi.model import DocumentLimits, DuplicateKey
from commonplace.openapi.number_literals import NumberLiterals

# One level of block nesting takes at least one character of indentation or a compact indicator (`-
# `, `? `, `: `), so a line's
# prefix bounds how deep the parser recurses. Twice the limit: sequences may stand at the
# indentation of their key.
PREFIX_LIMIT = 2000
_DEEP_PREFIX = re.compile(rf"(?:[ \t]|[-?:][ \t]){{{PREFIX_LIMIT}}}")
# Plain scalars that YAML 1.2 reads as strings and yaml-rs as numbers: digits with `_`, and `0b`.
# They are looked for from their
# rare character, which is ten times faster than looking at every scalar.
_FALSE_NUMBER = re.compile(
    r"[-+]?(?:[0-9_.][0-9A-Fa-f_.xo]*_|_[0-9]|0b[01])[-+0-9_.A-Fa-fxob]*(?=[ "
    r"\t]*(?:[\r\n,\]}#]|:(?:\s|$)|$))"
)
_RARE = (
    re.compile(r"_[-+0-9_.A-Fa-fxob]*[ \t]*(?:[\r\n,\]}#:]|$)"),
    re.compile(r"0b[01][-+0-9_.A-Fa-fxob]*[ \t]*(?:[\r\n,\]}#:]|$)"),
)
_TOKEN_CHARACTERS = frozenset("-+0123456789_.ABCDEFabcdefxo")
_ODD_KEY = re.compile(
    r"(?:(?<=[\s,\[{])|^)(?=(?:[-+.]?[0-9][\w.+-]*|[-+]?\.(?:inf|nan)|true|false|null|~)[ "
    r"\t]*:(?:\s|$))",
    re.I | re.M,
)
# A merge key is the plain scalar `<<`; written in quotes it is a key like any other, so the plain
# ones are marked before parsing.
_MERGE_KEY = re.compile(r"(?:(?<=[\s,\[{])|^)(?=<<[ \t]*(?::(?:\s|$)|\r?\n[ \t]*:\s))")
# Numbers that may be written differently than their float: 19 digits or more, a final zero, many
# decimals, an exponent. Found from
# their rare part, then looked at as a whole.
_INEXACT = re.compile(
    r"[0-9](?:[0-9]{18}|\.(?:[0-9]+0(?![0-9])|[0-9]{15})|(?:\.[0-9]*)?[eE][-+]?[0-9])"
)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NUMBER_CHARACTERS = frozenset("-+0123456789.eE")
_AFTER_NUMBER = re.compile(r"[ \t]*(?:[\r\n,\]}]|$)|[ \t]+#")
_BEFORE_NUMBER = re.compile(r"(?:[:?,\[{-][ \t]+|[,\[{][ \t]*)(?:&\S+[ \t]+)?$")
_POSITION = re.compile(r"line (\d+), column (\d+)")
_SENTINELS = ("\ue000", "\uf8ff", "\U000f0000", "\U0010fffd")


def parse_yaml(
    text: str, limits: DocumentLimits, numbers: NumberLiterals | None = None
) -> tuple[Json, tuple[DuplicateKey, ...]]:
    """The value of a one-document YAML text, and the duplicate keys that were seen.

    `numbers` takes the literals that a float does not hold as they are written."""
    numbers = numbers if numbers is not None else NumberLiterals()
    if any(len(line) >= PREFIX_LIMIT and _DEEP_PREFIX.match(line) for line in text.splitlines()):
        raise CommonplaceError(
            SPEC_TOO_DEEP,
            f"The document nests deeper than {limits.depth} levels.",
            details={"limit": limits.depth},
        )
    sentinel = _sentinel(text)
    merges = {match.start() for match in _MERGE_KEY.finditer(text)} if "<<" in text else set()
    strings, literals = _false_numbers(text), inexact_numbers(text)
    marked = _insert(text, sorted([*(strings | merges), *(literals - strings)]), sentinel)
    value, duplicates = _parse(marked, limits)
    if merges:
        value = _merge(value, sentinel + "<<", limits)
    kept = numbers if literals else None
    plain = _plain(value, sentinel if marked is not text else None, kept)
    if plain is None:  # a key lost its spelling: 1.10, true, null
        value, _ = _parse(_ODD_KEY.sub(sentinel, marked), limits)
        if merges:
            value = _merge(value, sentinel + "<<", limits)
        plain = _plain(value, sentinel, kept, strict=True) or [value]
    return plain[0], duplicates


def _parse(text: str, limits: DocumentLimits) -> tuple[Json, tuple[DuplicateKey, ...]]:
    alias = yaml_rs.AliasLimits(max_total_replayed_events=limits.alias_nodes)
    try:
        return yaml_rs.loads(text, parse_datetime=False, alias_limits=alias), ()
    except yaml_rs.YAMLDecodeError as error:
        message = str(error)
        if not message.startswith("duplicate mapping key"):
            raise _syntax(message, limits) from None
    except TypeError:  # keys in keys, which the parser itself does not expect
        raise _odd_keys() from None
    key = message.partition(": ")[2].strip("'\"")
    policy = yaml_rs.DuplicateKeyPolicy.LastWins
    try:
        value = yaml_rs.loads(
            text, parse_datetime=False, alias_limits=alias, duplicate_key_policy=policy
        )
    except yaml_rs.YAMLDecodeError as error:
        raise _syntax(str(error), limits) from None
    except TypeError:
        raise _odd_keys() from None
    return value, find_duplicates(text) or (DuplicateKey(key),)


def _odd_keys() -> CommonplaceError:
    return CommonplaceError(
        SPEC_SYNTAX, "The text has keys that are lists or objects.", hint="Use plain text as keys."
    )


def _syntax(message: str, limits: DocumentLimits) -> CommonplaceError:
    if "alias" in message and "limit" in message:
        hint = "Write the repeated parts out, or use $ref."
        return CommonplaceError(
            SPEC_TOO_LARGE,
            f"The YAML aliases expand to more than {limits.alias_nodes} nodes.",
            hint=hint,
        )
    if "recursion" in message or "depth" in message or "nest" in message:
        return CommonplaceError(
            SPEC_TOO_DEEP,
            f"The document nests deeper than {limits.depth} levels.",
            details={"limit": limits.depth},
        )
    place = _POSITION.search(message)
    reason = message.rsplit("\n", 1)[-1].strip()[:300]
    if place is None:
        return CommonplaceError(
            SPEC_SYNTAX, f"The text is not YAML: {reason}.", hint="Correct the text and call again."
        )
    line, column = int(place[1]), int(place[2])
    return CommonplaceError(
        SPEC_SYNTAX,
        f"The text is not YAML: line {line}, column {column}: {reason}.",
        hint="Correct the text at that place and call again.",
        details={"line": line, "column": column, "problem": reason},
    )


def _sentinel(text: str) -> str:
    for candidate in _SENTINELS:
        if candidate not in text:
            return candidate
    raise CommonplaceError(
        SPEC_SYNTAX, "The text uses every private character this loader could mark with."
    )


def _false_numbers(text: str) -> set[int]:
    """Where plain scalars start that may be taken for numbers although they are strings."""
    found = set()
    for pattern in _RARE:
        for match in pattern.finditer(text):
            start = match.start()
            while start > 0 and text[start - 1] in _TOKEN_CHARACTERS:
                start -= 1
            before = start
            while before > 0 and text[before - 1] in " \t":
                before -= 1
            if (before == 0 or text[before - 1] in "\r\n-:?,[{") and _FALSE_NUMBER.match(
                text, start
            ):
                found.add(start)
    return found


def inexact_numbers(text: str) -> set[int]:
    """Where plain scalars start that are numbers which a float does not hold as they are
    written.
    """
    found = set()
    for match in _INEXACT.finditer(text):
        start, end = match.start(), match.end()
        while start > 0 and text[start - 1] in _NUMBER_CHARACTERS:
            start -= 1
        while end < len(text) and text[end] in _NUMBER_CHARACTERS:
            end += 1
        if (
            is_number_literal(text[start:end])
            and _AFTER_NUMBER.match(text, end)
            and _starts_value(text, start)
        ):
            found.add(start)
    return found


def _starts_value(text: str, start: int) -> bool:
    """Whether a value begins here: behind an indicator on the same line, or alone under its key."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if before.strip():
        return _BEFORE_NUMBER.search(before) is not None
    above = text[: start - len(before)].rstrip()
    return above.endswith(":")


def is_number_literal(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _insert(text: str, positions: list[int], mark: str) -> str:
    if not positions:
        return text
    starts = [0, *positions]
    return mark.join(
        text[start:end] for start, end in zip(starts, [*positions, len(text)], strict=True)
    )


def _plain(
    value: Json, sentinel: str | None, numbers: NumberLiterals | None, *, strict: bool = False
) -> list[Json] | None:
    """Only JSON values and string keys, in place, in a list of one; the private character that
    kept a spelling is removed again.

    None where a key is neither a string nor an integer, unless `strict`, which takes what there is.
    """
    holder = [value]
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            try:
                "".join(node)  # the fastest way to see that all keys are strings
                odd = sentinel is not None
            except TypeError:
                odd = True
            if odd:
                if not strict and any(
                    type(key) is not str and type(key) is not int for key in node
                ):
                    return None
                renamed = [(_key(key, sentinel), item) for key, item in node.items()]
                node.clear()
                node.update(renamed)
            items: Any = node.items()
        else:
            items = enumerate(node)
        for key, item in items:
            kind = type(item)
            if kind is str:
                if sentinel and sentinel in item:
                    whole = (
                        numbers is not None and item[0] == sentinel and is_number_literal(item[1:])
                    )
                    node[key] = (
                        numbers.read(item[1:])
                        if numbers is not None and whole
                        else item.replace(sentinel, "")
                    )
            elif kind is dict or kind is list:
                stack.append(item)
            elif kind is not bool and item is not None:
                node[key] = _number(item)
    return holder


def _key(key: Any, sentinel: str | None) -> str:
    if isinstance(key, str):
        return key.replace(sentinel, "") if sentinel else key
    if isinstance(key, (tuple, frozenset)):
        raise CommonplaceError(
            SPEC_SYNTAX, "A mapping has a list or a mapping as a key; OpenAPI allows strings only."
        )
    return (
        "null"
        if key is None
        else str(key).lower()
        if isinstance(key, bool)
        else _digits(key)
        if isinstance(key, int)
        else str(key)
    )


def _number(item: Any) -> Json:
    """Numbers as JSON has them; what YAML has beyond (infinities, huge integers, sets) in its
    nearest form.
    """
    if type(item) is int:
        return item if -(2**63) <= item < 2**64 else _big(item)
    if type(item) is float:
        return item if math.isfinite(item) else str(item)
    if isinstance(item, (set, frozenset, tuple)):
        return sorted(str(member) for member in item)
    return str(item)


def _big(item: int) -> Json:
    try:
        return float(item)
    except OverflowError:
        return _digits(item)


def _digits(item: int) -> str:
    try:
        return str(item)
    except ValueError:  # Python refuses to write that many, because it takes long
        raise CommonplaceError(
            SPEC_SYNTAX,
            "The text has an integer of thousands of digits.",
            hint="Write it in quotes.",
        ) from None


def _merge(value: Json, mark: str, limits: DocumentLimits) -> Json:
    """Expand merge keys, innermost first: keys of the mapping win, then the merged mappings in
    order.
    """
    holder = [value]
    found: list[JsonObject] = []  # outer mappings before inner ones
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        if type(node) is dict and mark in node:
            found.append(node)
        stack.extend(
            item
            for item in (node.values() if type(node) is dict else node)
            if type(item) is dict or type(item) is list
        )
    spent = 0
    for node in reversed(found):
        merged = node.pop(mark)
        sources = merged if isinstance(merged, list) else [merged]
        if not all(isinstance(source, dict) for source in sources):
            node.setdefault("<<", merged)
            continue
        own = dict(node)
        node.clear()
        for source in reversed(sources):
            spent += len(source)
            node.update(source)
        node.update(own)
        if spent > limits.alias_nodes:
            raise CommonplaceError(
                SPEC_TOO_LARGE, f"Merge keys expand to more than {limits.alias_nodes} entries."
            )
    return holder[0]


def find_duplicates(text: str, size_limit: int = 2_000_000) -> tuple[DuplicateKey, ...]:
    """Where mapping keys repeat.

    A slow pass, so only for texts of ordinary size and only when there is a duplicate.
    """
    if len(text) > size_limit:
        return ()
    import yaml

    found: list[DuplicateKey] = []
    # Each frame: the keys seen, or None for a sequence; the pointer; the pending key or the
    # position.
    frames: list[tuple[set[str] | None, str]] = []
    pending: list[str | int | None] = []
    try:
        for event in yaml.parse(
            text, Loader=yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
        ):
            opens = isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent))
            if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                frames.pop()
                pending.pop()
                _value_done(frames, pending)
            elif opens or isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                if not opens and frames and frames[-1][0] is not None and pending[-1] is None:
                    key = str(getattr(event, "value", ""))
                    keys, pointer = frames[-1]
                    if keys is not None and key in keys:
                        found.append(
                            DuplicateKey(
                                key, pointer + "/" + escape_token(key), event.start_mark.line + 1
                            )
                        )
                    elif keys is not None:
                        keys.add(key)
                    pending[-1] = key
                elif opens:
                    pointer = frames[-1][1] + "/" + escape_token(str(pending[-1])) if frames else ""
                    frames.append(
                        (set() if isinstance(event, yaml.MappingStartEvent) else None, pointer)
                    )
                    pending.append(None if isinstance(event, yaml.MappingStartEvent) else 0)
                else:
                    _value_done(frames, pending)
    except yaml.YAMLError:
        return tuple(found)
    return tuple(found)


def _value_done(frames: list[tuple[set[str] | None, str]], pending: list[str | int | None]) -> None:
    if frames:
        position = pending[-1]
        pending[-1] = position + 1 if frames[-1][0] is None and isinstance(position, int) else None
