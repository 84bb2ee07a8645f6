"""`rules_for` on both stores: what applies, in which order, and what is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from commonplace.kernel.auth import RESTRICTED, AuthContext, Scope, Tenant, scopes_up_to
from commonplace.kernel.errors import Kind
from commonplace.kernel.tokens import count_tokens


def refs(answer: Any, name: str = "rules") -> list[str]:
    return [rule["ref"].removeprefix("instruction:") for rule in answer.get(name, ())]


def rules_for(desk: Any, *paths: str, **arguments: Any) -> Any:
    return desk.call("rules_for", paths=list(paths), **arguments)


def test_rules_come_by_requirement_then_scope_then_priority_then_id(desk: Any) -> None:
    desk.add("z-user", "One.", userId="ann", priority=1)
    desk.add("y-folder", "Two.", appliesTo=["web/ui/**"], priority=1)
    desk.add("x-folder", "Three.", appliesTo=["web/**"], priority=9)
    desk.add("w-workspace", "Four.", workspaceId="shop", priority=1)
    desk.add("v-team", "Five.", teamIds=["core"], priority=1)
    desk.add("u-org", "Six.", priority=2)
    desk.add("t-org", "Seven.", priority=2)
    desk.add("s-must", "Eight.", requirement="mandatory", owner="ann", userId="ann")
    desk.add("r-other", "Nine.", userId="bob")
    desk.add("q-other", "Ten.", appliesTo=["api/**"])
    answer = rules_for(desk, "web/ui/a.ts", user="Ann", workspace="shop", teams=["CORE"])
    assert refs(answer) == [
        "s-must",
        "t-org",
        "u-org",
        "v-team",
        "w-workspace",
        "x-folder",
        "y-folder",
        "z-user",
    ]
    why = {rule["ref"]: rule["why"] for rule in answer["rules"]}
    assert why["instruction:x-folder"] == ["web/ui/a.ts matches web/**"]
    assert why["instruction:z-user"] == ["always", "user ann"]
    assert refs(rules_for(desk, "web/ui/a.ts")) == ["t-org", "u-org", "x-folder", "y-folder"]
    assert answer == rules_for(desk, "web/ui/a.ts", user="Ann", workspace="shop", teams=["CORE"])


def test_user_and_team_come_from_the_key_and_workspace_from_the_settings(
    desks: Callable[..., Any],
) -> None:
    desk = desks(workspace="shop")
    desk.add("mine", "One.", userId="alice")
    desk.add("ours", "Two.", teamIds=["team-a"])
    desk.add("here", "Three.", workspaceId="shop")
    alice = AuthContext(Tenant("team-a"), scopes_up_to(Scope.READ), "alice", "k1")
    outcome = desk.outcome("rules_for", {"paths": ["a.py"]}, alice)
    assert refs(outcome.output) == ["ours", "here", "mine"]
    assert refs(rules_for(desk, "a.py")) == ["here"]


def test_rules_that_are_not_in_force_are_named_and_left_out(desks: Callable[..., Any]) -> None:
    desk = desks()
    desk.add("kept", "One.")
    desk.add("new", "Two.", supersedes="old")
    desk.add("old", "Three.")
    desk.add("gone", "Four.", requirement="deprecated", deprecatedBy="new", owner="ann")
    desk.add("wish", "Five.", status="draft")
    desk.add("asked", "Six.", status="review")
    desk.add("wish-new", "Seven.", status="draft", supersedes="kept")
    answer = rules_for(desk, "a.py")
    assert refs(answer) == ["kept", "new"]
    assert {item["ref"]: item["reason"] for item in answer["leftOut"]} == {
        "instruction:old": "superseded by instruction:new",
        "instruction:gone": "deprecated, replaced by new",
        "instruction:wish": "not approved: draft",
        "instruction:wish-new": "not approved: draft",
        "instruction:asked": "not approved: review",
    }
    lenient = desks(serve_drafts=True)
    assert refs(rules_for(lenient, "a.py")) == ["asked", "kept", "new", "wish", "wish-new"]


def test_descriptions_are_judged_by_the_task_and_manual_rules_are_named(desk: Any) -> None:
    desk.add(
        "migrations",
        "Number them.",
        title="Schema",
        description="Database migrations and tables",
        activation="description",
    )
    desk.add("release", "Tag it.", activation="manual")
    desk.add("release-notes", "Write them.", activation="manual", appliesTo=["docs/**"])
    answer = rules_for(desk, "docs/a.md")
    assert refs(answer) == []
    assert refs(answer, "offered") == ["migrations"]
    answer = rules_for(desk, "a.sql", task="Add a migration for the tables of orders")
    assert refs(answer) == ["migrations"]
    assert answer["rules"][0]["why"][0].startswith("its description fits the task")
    answer = rules_for(desk, "a.sql", task="fix a typo", named=["release", "nothing"])
    assert refs(answer) == ["release"]
    assert answer["rules"][0]["why"] == ["named"]
    assert answer["leftOut"] == [{"ref": "nothing", "title": "", "reason": "no such rule"}]


def test_a_description_does_not_bring_a_rule_to_files_it_is_not_for(desk: Any) -> None:
    desk.add(
        "migrations",
        "Number them.",
        description="Database migrations",
        activation="description",
        appliesTo=["db/**"],
    )
    task = "add a database migration"
    assert refs(rules_for(desk, "db/1.sql", task=task)) == ["migrations"]
    assert refs(rules_for(desk, task=task)) == ["migrations"]
    answer = rules_for(desk, "web/a.ts", task=task)
    assert refs(answer) == refs(answer, "offered") == []


def test_the_narrower_rule_wins_unless_the_wider_is_binding(desk: Any) -> None:
    desk.add("org", "Use tabs for indentation.")
    desk.add("web", "Use spaces for indentation.\n\nName files in kebab case.", appliesTo=["web/"])
    desk.add("long", "Limit lines to 100 characters.", requirement="mandatory", owner="ann")
    desk.add("longer", "Limit lines to 120 characters.\nKeep it short.", appliesTo=["web/**"])
    desk.add("one", "Sleep.", conflictsWith=["two"])
    desk.add("two", "Wake.", appliesTo=["web/**"])
    answer = rules_for(desk, "web/a.ts")
    assert refs(answer) == ["long", "longer", "two", "web"]
    assert {(c["winner"], c["loser"]) for c in answer["conflicts"]} == {
        ("instruction:web", "instruction:org"),
        ("instruction:long", "instruction:longer"),
        ("instruction:two", "instruction:one"),
    }
    longer = next(rule for rule in answer["rules"] if rule["ref"] == "instruction:longer")
    assert longer["overruled"] == ["Limit lines to 120 characters."]
    assert sorted(refs(answer, "leftOut")) == ["one", "org"]
    assert refs(rules_for(desk, "api/a.ts")) == ["long", "one", "org"]


def test_duplicates_are_reported_once(desk: Any) -> None:
    text = "Write a regression test for each defect before you fix it, and name it in the commit."
    desk.add("first", text)
    desk.add("second", text.upper().replace(",", ""), appliesTo=["src/**"])
    desk.add("third", text.replace("name it in", "mention it in") + " Really do this every time.")
    desk.add("fourth", text.replace("a regression", "no regression"))
    answer = rules_for(desk, "src/a.py")
    assert answer["rules"][0]["duplicates"] == ["instruction:second"]
    assert refs(answer) == ["first", "third"]
    assert refs(answer, "leftOut") == ["fourth"]  # one word of it says the opposite


def test_a_binding_rule_over_budget_is_a_title_and_a_reference(desk: Any) -> None:
    def long(word: str) -> str:
        return " ".join(f"The {word} {number} is described there." for number in range(300))

    desk.add("must", long("gate"), requirement="mandatory", owner="ann", title="Ask first")
    desk.add("critical", long("door"), requirement="critical", owner="ann")
    desk.add("small", "Be brief.")
    desk.add("large", long("wall"))
    answer = rules_for(desk, "a.py", budget=800)
    shown = {rule["ref"]: rule for rule in answer["rules"]}
    assert shown["instruction:must"]["title"] == "Ask first"
    assert shown["instruction:must"]["cut"] == "over budget"
    assert "text" not in shown["instruction:must"]
    assert shown["instruction:small"]["text"] == "Be brief."
    assert refs(answer, "cut") == ["large"]
    assert answer["cutCount"] == 1
    assert count_tokens(orjson.dumps(answer).decode()) <= answer["tokens"] <= 800
    tight = rules_for(desk, "a.py", budget=200)
    assert refs(tight)[:2] == ["must", "critical"]
    assert tight["overBudget"] is True


def test_a_change_is_followed_at_once(desk: Any) -> None:
    desk.add("a", "One.", appliesTo=["src/**"])
    assert refs(rules_for(desk, "src/a.py")) == ["a"]
    desk.do("add", entry={"id": "a", "appliesTo": ["lib/**"]}, overwrite=True, lax=True)
    assert refs(rules_for(desk, "src/a.py")) == []
    assert refs(rules_for(desk, "lib/a.py")) == ["a"]
    desk.do("remove", ids=["a"])
    assert refs(rules_for(desk, "lib/a.py")) == []


def test_restricted_rules_reach_only_those_who_may_read_them(desks: Callable[..., Any]) -> None:
    desk = desks(governance={"restrict_reads": True})
    desk.add("open", "One.")
    desk.add("secret", "Two.", classification="restricted")
    scopes = scopes_up_to(Scope.READ)
    outsider = AuthContext(Tenant("t"), scopes, "eve", "k1")
    insider = AuthContext(Tenant("t"), scopes, "ann", "k2", may_read=frozenset({RESTRICTED}))
    asked = {"paths": ["a.py"], "named": ["secret"]}
    hidden = desk.outcome("rules_for", asked, outsider).output
    assert refs(hidden) == ["open"]
    assert hidden["leftOut"] == [{"ref": "secret", "title": "", "reason": "no such rule"}]
    assert refs(desk.outcome("rules_for", asked, insider).output) == ["open", "secret"]


@pytest.mark.parametrize(
    "paths",
    [["../x"], ["/etc/passwd"], ["a\0b"], [""], ["~/x"], ["x" * 1025], ["a.py"] * 201],
)
def test_hostile_paths_are_refused(desk: Any, paths: list[str]) -> None:
    error = desk.error("rules_for", paths=paths)
    assert error.code.kind is Kind.INVALID_ARGUMENT


def test_a_repository_outside_the_allowed_folders_is_refused(
    desks: Callable[..., Any], tmp_path: Any
) -> None:
    inside, outside = tmp_path / "work/repo", tmp_path / "other"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "AGENTS.md").write_text("# Guide\n\nBe kind.\n")
    (tmp_path / "work/link").symlink_to(outside)
    desk = desks(roots=(str(tmp_path / "work"),))
    assert refs(rules_for(desk, "a.py", repo=str(inside))) == ["AGENTS.md"]
    for repo in (outside, tmp_path / "work/link", tmp_path / "work/../other", "/", ".", "\0"):
        error = desk.error("rules_for", paths=["a.py"], repo=str(repo))
        assert error.code.name in ("REPOSITORY_NOT_ALLOWED", "INVALID_ARGUMENT")
        assert str(tmp_path) not in error.message
    assert desk.error("rules_for", paths=["a"], repo=str(inside / "no")).details == {
        "field": "repo"
    }


def test_rules_of_files_and_of_the_catalogue_are_merged(
    desks: Callable[..., Any], tmp_path: Any
) -> None:
    repo = tmp_path / "repo"
    (repo / "web").mkdir(parents=True)
    (repo / "AGENTS.md").write_text("Use tabs for indentation.\n")
    (repo / "CLAUDE.md").write_text("@AGENTS.md\n@docs/more.md\n@../secret.md\n")
    (tmp_path / "secret.md").write_text("Secret.\n")
    (repo / "docs").mkdir()
    (repo / "docs/more.md").write_text("Read the guide twice.\n")
    (repo / "web/AGENTS.md").write_text("Use spaces for indentation. Test in a browser.\n")
    desk = desks(roots=(str(repo),))
    desk.add("browser", "use spaces for indentation, test in a browser", appliesTo=["web/**"])
    answer = rules_for(desk, "web/new.ts", repo=str(repo))
    assert refs(answer) == ["docs/more.md", "web/AGENTS.md"]
    assert answer["rules"][1]["duplicates"] == ["instruction:browser"]
    assert [(c["winner"], c["loser"]) for c in answer["conflicts"]] == [
        ("web/AGENTS.md", "AGENTS.md")
    ]
    assert refs(rules_for(desk, "api/new.ts", repo=str(repo))) == ["AGENTS.md", "docs/more.md"]
