"""Write the list of words, pairs of characters and other pieces that `kernel/tokens` knows.

The candidates are the most frequent words and pieces of this project's documents, of the installed
packages and of both as JSON, which is how answers carry texts. The tokenizer of o200k_base counts
them. Words are kept if they are one token; of the other pieces those that lower the count most.

Run it with a tokenizer at hand: python tools/token_pieces.py
"""

from __future__ import annotations

import json
import re
import string
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import bpe_openai

from commonplace.kernel.tokens import bound

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "commonplace" / "kernel" / "tokens" / "pieces.txt"
MOST_WORDS = 14_000
MOST_PIECES = 6_000
LEAST_USES = 6
FILE_CHARS = 200_000
PREFIXES = f"{string.punctuation}\t"
_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")

Lines = dict[str, list[str]]


def main() -> None:
    """Count, ask the tokenizer, and write the file."""
    encoding = bpe_openai.get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    words: Counter[str] = Counter()
    pieces: Counter[str] = Counter()
    for text in _texts():
        words.update(
            word if word.isupper() and len(word) > 1 else word.lower()
            for word in _WORD.findall(text)
        )
        pieces.update(bound.cut_ascii(text))
    lines: Lines = {"pairs": [_escape(pair) for pair in _pairs() if count(pair) == 1]}
    for word in _frequent(words)[:MOST_WORDS]:
        if len(word) > 1 and (forms := _forms(word, count)):
            lines.setdefault(forms, []).append(word)
    _write(lines)  # what words do not explain is added to them
    for piece in _costly(pieces, count):
        lines.setdefault(str(count(piece)), []).append(_escape(piece))
    _write(lines)
    print(f"{sum(map(len, lines.values()))} pieces in {TARGET.relative_to(ROOT)}")


def _pairs() -> Iterable[str]:
    """Yield every pair of printable characters, tabs and line breaks."""
    return map("".join, product(sorted(string.printable), repeat=2))


def _escape(piece: str) -> str:
    return piece.encode("unicode_escape").decode().replace(" ", "\\x20")


def _write(lines: Lines) -> None:
    TARGET.write_text(
        "".join(f"{forms} {' '.join(sorted(lines[forms]))}\n" for forms in sorted(lines)),
        encoding="ascii",
    )


def _texts() -> Iterable[str]:
    packages = Path(sysconfig.get_paths()["purelib"])
    for folder, pattern in (
        (ROOT, "*.md"),
        (ROOT / "docs", "**/*.md"),
        (ROOT / "src", "**/*.py"),
        (packages, "*.dist-info/METADATA"),
        (packages, "*/*.py"),
    ):
        for path in sorted(folder.glob(pattern))[:2_000]:
            text = path.read_text(encoding="utf-8", errors="ignore")[:FILE_CHARS]
            yield text
            yield _compact({"path": path.name, "lines": [1, 2], "text": text})
    for path in sorted((ROOT / "tests" / "contract" / "dispatch" / "snapshots").glob("*.json")):
        yield _compact(json.loads(path.read_text("utf-8")))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _frequent(counted: Counter[str]) -> list[str]:
    return [piece for piece, uses in counted.most_common() if uses >= LEAST_USES]


def _costly(counted: Counter[str], count: Callable[[str], int]) -> list[str]:
    """Return the pieces whose bound exceeds the truth, those that cost most in all first."""
    excess = {
        piece: (bound.count_tokens(piece) - count(piece)) * counted[piece]
        for piece in _frequent(counted)
        if not piece.isalpha() or _stays_whole(piece, count)
    }
    return sorted(filter(excess.get, excess), key=lambda piece: (-excess[piece], piece))[
        :MOST_PIECES
    ]


def _stays_whole(word: str, count: Callable[[str], int]) -> bool:
    """Tell whether a sign before a word never makes more than two tokens of both."""
    return all(count(sign + word) <= 2 for sign in PREFIXES)


def _forms(word: str, count: Callable[[str], int]) -> str:
    """Name the forms of a word that are one token: bare, after a space, capitalised."""
    forms = ""
    for name, form in (("b", word), ("c", word.capitalize())):
        if name == "c" and word.isupper():
            break
        if count(form) == 1 and _stays_whole(form, count):
            forms += name
        if count(f" {form}") == 1:
            forms += name.upper()
    return forms


if __name__ == "__main__":
    main()
