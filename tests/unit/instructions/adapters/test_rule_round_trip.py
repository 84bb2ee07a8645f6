"""Each of the real rule files comes back from its own format, and from others with a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.instructions.adapters.losses import find_losses, read_export
from commonplace.instructions.adapters.naming import candidate_id, numbered
from commonplace.instructions.adapters.reading import read_rule_file
from commonplace.instructions.adapters.rule import PortableRule
from commonplace.instructions.adapters.writing import TARGETS, ExportedRule, write_for_client

FIELDS = {
    "body": "text",
    "activation": "activation",
    "appliesTo": "globs",
    "title": "title",
    "description": "description",
}

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def collection(data: Path) -> list[tuple[str, ExportedRule]]:
    """The 224 files of two public collections, each with its client."""
    rules: list[tuple[str, ExportedRule]] = []
    taken: set[str] = set()
    for path in sorted((data / "rules").glob("c[uo][rp]*/*.m*")):
        name = path.relative_to(data / "rules").as_posix()
        reading = read_rule_file(name, path.read_bytes())
        (found,) = reading.rules
        id_ = numbered(candidate_id(name, found.rule.title), taken)
        taken.add(id_)
        rules.append((reading.client, ExportedRule(id_, found.rule, name)))
    return rules


def test_every_file_comes_back_from_its_own_format(
    collection: list[tuple[str, ExportedRule]],
) -> None:
    assert len(collection) == 224
    for client in ("cursor", "copilot"):
        own = [exported for owner, exported in collection if owner == client]
        written = write_for_client(client, own)
        back = read_export(written)
        assert len(written.files) == len(own)
        assert {exported.id: exported.rule for exported in own} == back
        assert find_losses(written, own, {}, client) == []


@pytest.mark.parametrize("client", sorted(TARGETS))
def test_the_loss_report_of_every_format_is_complete(
    client: str, collection: list[tuple[str, ExportedRule]]
) -> None:
    rules = [exported for _, exported in collection]
    written = write_for_client(client, rules)
    back = read_export(written)
    reported = {(loss.id, loss.field) for loss in find_losses(written, rules, {}, client)}
    for exported in rules:
        again = back.get(exported.id)
        if again is None:
            assert (exported.id, "rule") in reported
            continue
        for field, attribute in FIELDS.items():
            before, after = getattr(exported.rule, attribute), getattr(again, attribute)
            differs = before != after
            if attribute == "globs" and _applies_to_all(exported.rule) and _applies_to_all(again):
                differs = False
            assert differs == ((exported.id, field) in reported), (exported.id, field)
        for key, value in exported.rule.header.items():
            assert (again.header.get(key) != value) == ((exported.id, f"header.{key}") in reported)


def _applies_to_all(rule: PortableRule) -> bool:
    """Tell whether globs, if any, add nothing to a rule that always applies."""
    everything = not rule.globs or bool({"**", "**/*", "*"}.intersection(rule.globs))
    return rule.activation == "always" and everything
