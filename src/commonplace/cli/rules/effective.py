"""`commonplace rules for PATH`: the rules in effect, of the catalogue and of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.cli.printing import out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import local_user
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.engine.effective.outcome import RuleQuestion


def find_effective(question: RuleQuestion, repo: Path) -> JsonObject:
    """Return the rules in effect as the tool `rules_for` spells them; any folder may be read."""
    from commonplace.instructions.rulefiles.allowed import RuleFolders
    from commonplace.instructions.tools.effective.spelling import show_rules

    service = session().app().services.instructions
    service.confirmation.load()
    found, understood, catalogue_hash = service.rules.rules_for(
        local_user(), question, str(repo), RuleFolders(anywhere=True)
    )
    return show_rules(found, understood, catalogue_hash)


def print_effective(answer: JsonObject, show: bool, as_json: bool) -> None:
    """Print the rules as a table, as their texts, or as JSON."""
    if as_json:
        print_json(answer)
        return
    if show:
        texts = (rule.get("text") or f"{rule['title']}: {rule['ref']}" for rule in answer["rules"])
        out.print(plain_text("\n\n".join(text.strip("\n") for text in texts)))
        return
    rows = [
        (
            rule["ref"],
            rule["title"],
            rule["requirement"],
            rule["scope"],
            "; ".join([*rule["why"], *([rule["cut"]] if "cut" in rule else [])]),
        )
        for rule in answer["rules"]
    ]
    if rows:
        out.print(table(("rule", "title", "requirement", "scope", "because"), rows))
    else:
        say("No rule is in effect here.")
    for name, title in (("cut", "cut"), ("offered", "offered"), ("leftOut", "left out")):
        if answer.get(name):
            noted = [(item["ref"], item["title"], item["reason"]) for item in answer[name]]
            out.print(table((title, "title", "because"), noted))
    for conflict in answer.get("conflicts", ()):
        say(f"{conflict['winner']} holds against {conflict['loser']} ({conflict['reason']})")
    say(f"{answer['count']} rules, at most {answer['tokens']:,} of {answer['budget']:,} tokens")
