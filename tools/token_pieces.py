"""Write the list of words and signs that are one token of o200k_base.

`kernel/tokens` reads it. The candidates are the most frequent words and signs of this project's
documents and of the installed packages; a tokenizer decides which of them are one token.

Run it with a tokenizer at hand: python tools/token_pieces.py
"""

from __future__ import annotations

import re
import string
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import bpe_openai

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "commonplace" / "kernel" / "tokens" / "pieces.txt"
MOST_WORDS = 14_000
MOST_SIGNS = 1_500
LEAST_USES = 6
FILE_CHARS = 200_000
PREFIXES = f"{string.punctuation}\t"
_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
_SIGNS = re.compile(r" ?[^\sA-Za-z0-9\x80-\U0010ffff]+[\r\n/]*")


def main() -> None:
    """Count, ask the tokenizer, and write the file."""
    encoding = bpe_openai.get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    words: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    for text in _texts():
        words.update(
            word if word.isupper() and len(word) > 1 else word.lower()
            for word in _WORD.findall(text)
        )
        signs.update(_SIGNS.findall(text))
    lines: dict[str, list[str]] = {}
    for word in _frequent(words, MOST_WORDS):
        if len(word) > 2 and (forms := _forms(word, count)):
            lines.setdefault(forms, []).append(word)
    lines["signs"] = [
        sign.encode("unicode_escape").decode().replace(" ", "\\x20")
        for sign in _frequent(signs, MOST_SIGNS)
        if len(sign) > 1 and count(sign) == 1
    ]
    TARGET.write_text(
        "".join(f"{forms} {' '.join(sorted(lines[forms]))}\n" for forms in sorted(lines)),
        encoding="ascii",
    )
    print(f"{sum(map(len, lines.values()))} pieces in {TARGET.relative_to(ROOT)}")


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
            yield path.read_text(encoding="utf-8", errors="ignore")[:FILE_CHARS]


def _frequent(counted: Counter[str], most: int) -> list[str]:
    return [piece for piece, uses in counted.most_common(most) if uses >= LEAST_USES]


def _forms(word: str, count: Callable[[str], int]) -> str:
    """Name the forms of a word that are one token: bare, after a space, capitalised.

    A bare form counts only if a sign before it never makes more than two tokens of both.
    """
    forms = ""
    for name, form in (("b", word), ("c", word.capitalize())):
        if name == "c" and word.isupper():
            break
        if count(form) == 1 and all(count(sign + form) <= 2 for sign in PREFIXES):
            forms += name
        if count(f" {form}") == 1:
            forms += name.upper()
    return forms


if __name__ == "__main__":
    main()
