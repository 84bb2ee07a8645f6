"""Contradictions between rules, measured on written pairs.

python -m benchmarks.rule_pairs               precision and recall of both halves
python -m benchmarks.rule_pairs --tuned       also show the pairs of the tuned half that are wrong

Pairs are in tests/data/search/rule_pairs.jsonl: two texts and whether they contradict each other.
Half of them, by the parity of a hash of their id, may be looked at while the reading of rules is
changed; the figures of the other half are reported.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.measure import show
from benchmarks.retrieval import ROOT, parity
from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import SelectedRule
from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.instructions.engine.scope.rule_scope import RuleScope

PAIRS = ROOT / "tests" / "data" / "search" / "rule_pairs.jsonl"
HALVES = ("tuned", "untouched")


def contradict(first: str, second: str) -> bool:
    """Tell whether `rules_for` would name a conflict of two rules with these texts."""
    rules = [
        SelectedRule(EffectiveCandidate(key, key, key, text, scope=RuleScope.of({})), ("always",))
        for key, text in (("a", first), ("b", second))
    ]
    return bool(RuleMerger(rules).conflicts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tuned", action="store_true")
    shows_tuned = parser.parse_args().tuned
    rows = []
    counts = {half: {"found": 0, "missed": 0, "false": 0, "quiet": 0} for half in HALVES}
    for line in PAIRS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        half = HALVES[parity(pair["id"])]
        is_named = contradict(pair["first"], pair["second"])
        kinds = ("found", "missed") if pair["contradicts"] else ("false", "quiet")
        outcome = kinds[not is_named]
        counts[half][outcome] += 1
        if shows_tuned and half == "tuned" and outcome in ("missed", "false"):
            print(f"{outcome}: {pair['id']}: {pair['first']!r} / {pair['second']!r}")
    for half, count in counts.items():
        named = count["found"] + count["false"]
        precision = count["found"] / named if named else 1.0
        recall = count["found"] / (count["found"] + count["missed"])
        rows.append((half, *map(str, count.values()), f"{precision:.2f}", f"{recall:.2f}"))
    show("contradictions between rules", ("half", *counts["tuned"], "precision", "recall"), rows)


if __name__ == "__main__":
    main()
