"""Measure capture on 30 transcripts: precision and recall of its proposals, and secrets kept.

`make bench SUITE=capture`. The transcripts are in `tests/data/capture`; half of them were left
alone while the extraction was tuned. A proposal is right if it has the kind and all words of an
expected one that no other proposal took. Secrets stand in the files as `{{name}}` and are filled in
here, so that no file of this repository looks like it contains one.
"""

from __future__ import annotations

import hashlib
import json
import random
import string
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.context.capture.engine.extract import extract
from commonplace.context.capture.model import ExtractedProposal
from commonplace.context.capture.reading.transcripts import read_bytes

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "capture"
LEAST_PRECISION = 0.8
HALVES = ("tuning", "untouched")


def make_secrets(seed: int) -> dict[str, str]:
    """Return made-up credentials of many kinds, by the names that transcripts use."""
    chance = random.Random(seed)

    def draw(letters: str, count: int) -> str:
        return "".join(chance.choice(letters) for _ in range(count))

    word = string.ascii_letters + string.digits
    key = "\n".join(draw(word, 64) for _ in range(4))
    return {
        "aws_id": "AKIA" + draw(string.ascii_uppercase + string.digits, 16),
        "aws_secret": draw(word + "+/", 40),
        "db_password": "Kr7" + draw(word, 9) + "!",
        "github": "ghp_" + draw(word, 36),
        "slack_path": f"T{draw(word.upper(), 8)}/B{draw(word.upper(), 8)}/{draw(word, 24)}",
        "stripe_hook": "whsec_" + draw(word, 32),
        "stripe_key": "sk_live_" + draw(word, 24),
        "password": "Tulip7" + draw(word, 6) + "#",
        "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{draw(word, 40)}.{draw(word, 43)}",
        "bearer": draw(word, 40),
        "mysql": "pw9" + draw(word, 8),
        "pem": f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----",
    }


def fill_secrets(content: bytes, secrets: Mapping[str, str], *, is_json: bool) -> bytes:
    """Put secrets in the place of their names."""
    for name, secret in secrets.items():
        spelled = json.dumps(secret)[1:-1] if is_json else secret
        content = content.replace(b"{{%s}}" % name.encode(), spelled.encode())
    return content


@dataclass
class CaptureScore:
    """Counts over some transcripts."""

    right: int = 0
    proposed: int = 0
    expected: int = 0
    kept_secrets: int = 0
    seconds: float = 0.0
    misses: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / self.proposed if self.proposed else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0

    def add(self, other: CaptureScore) -> None:
        self.right += other.right
        self.proposed += other.proposed
        self.expected += other.expected
        self.kept_secrets += other.kept_secrets
        self.seconds += other.seconds
        self.misses += other.misses
        self.wrong += other.wrong


def score_transcript(name: str, expected: Iterable[Mapping[str, object]]) -> CaptureScore:
    """Compare the proposals of one transcript with the expected ones."""
    secrets = make_secrets(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]))
    path = FOLDER / "transcripts" / name
    content = fill_secrets(path.read_bytes(), secrets, is_json=path.suffix == ".jsonl")
    began = time.perf_counter()
    proposals = extract(read_bytes(content).steps)
    score = CaptureScore(seconds=time.perf_counter() - began, proposed=len(proposals))
    waiting = list(expected)
    for proposal in proposals:
        text = show(proposal)
        found = next((item for item in waiting if _fits(proposal, item)), None)
        if found is None:
            score.wrong.append(f"{name}: {text}")
        else:
            waiting.remove(found)
            score.right += 1
        score.kept_secrets += sum(_contains(text, secret) for secret in secrets.values())
    score.expected = score.right + len(waiting)
    score.misses = [f"{name}: {item}" for item in waiting]
    return score


def show(proposal: ExtractedProposal) -> str:
    text = proposal.text
    return f"[{text.kind} {text.type}] {text.title} | {text.content} | {proposal.anchor}"


def _fits(proposal: ExtractedProposal, item: Mapping[str, object]) -> bool:
    words = item["words"]
    assert isinstance(words, list)
    text = f"{proposal.text.title}\n{proposal.text.content}".lower()
    return proposal.text.kind == item["kind"] and all(str(word).lower() in text for word in words)


def _contains(text: str, secret: str) -> bool:
    """Tell whether a text contains a secret or a large part of it."""
    lines = [line for line in secret.split("\n") if "-----" not in line]
    return any(line[at : at + 10] in text for line in lines for at in range(len(line) - 9))


def score_all() -> dict[str, CaptureScore]:
    """Return the scores of both halves and of all transcripts."""
    listed = json.loads((FOLDER / "expected.json").read_bytes())
    scores = {half: CaptureScore() for half in (*HALVES, "all")}
    for name, item in sorted(listed.items()):
        score = score_transcript(name, item["expected"])
        scores[item["half"]].add(score)
        scores["all"].add(score)
    return scores


def main() -> int:
    """Print the figures; the exit code is 1 if a mark is missed."""
    scores = score_all()
    shown = HALVES if "--all" in sys.argv else HALVES[:1]
    for half in shown if {"-v", "--all"} & set(sys.argv) else ():
        for line in (*scores[half].wrong, *(f"MISSED {miss}" for miss in scores[half].misses)):
            print(line)
    for name, score in scores.items():
        print(
            f"{name}: precision {score.precision:.3f}, recall {score.recall:.3f} "
            f"({score.right} of {score.proposed} proposals right, {score.expected} expected), "
            f"secrets kept {score.kept_secrets}, {score.seconds:.2f} s"
        )
    missed = any(
        score.precision < LEAST_PRECISION or score.kept_secrets for score in scores.values()
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
