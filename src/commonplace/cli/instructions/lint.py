"""`commonplace instructions lint`: find problems of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from commonplace.cli.instructions.access import call
from commonplace.cli.printing import JsonFlag, out, print_json, say, table


def lint(as_json: JsonFlag = False) -> None:
    """Check the catalogue: files, drift, duplicates, references, overdue reviews, gates.

    Exit code 1 if there are errors.

    Example:
      commonplace instructions lint && git commit -m "Rules"
    """
    problems = list(_problems())
    if as_json:
        print_json({"problems": problems, "count": len(problems)})
    elif problems:
        out.print(
            table(
                ("severity", "where", "problem"),
                [[p["severity"], p["where"], p["problem"]] for p in problems],
            )
        )
    else:
        say("no problems found")
    if any(problem["severity"] == "error" for problem in problems):
        raise typer.Exit(1)


def _problems() -> Iterator[dict[str, str]]:
    def problem(severity: str, where: str, text: str) -> dict[str, str]:
        return {"severity": severity, "where": where, "problem": text}

    inspected = call("instructions_inspect", scope="catalog")["data"]
    validation = inspected["validation"]
    for rejected in validation["rejected"]:
        if rejected["reason"] not in ("non-instruction-config", "template", "governance-denylist"):
            yield problem("error", rejected["file"], f"{rejected['reason']}: {rejected['detail']}")
    for name, text in validation["configuration"].items():
        yield problem("error", name, text)
    for id_ in validation["drifted"]:
        yield problem("error", id_, "sourceHash does not match the body: run repair")
    for line in (*validation["unreadable"], *validation["unknownFields"]):
        yield problem("warn", line["id"], f"{line['field']}: {line['problem']}")
    for folder in inspected["filesystem"]["ignoredFolders"]:
        yield problem(
            "warn",
            f"{folder}/",
            "files in subfolders are not read; move them into the instruction folder itself",
        )
    items = call("instructions_export", metaOnly=True)["items"]
    ids = {item["id"] for item in items}
    bodies: dict[str, str] = {}
    for item in items:
        for field in ("deprecatedBy", "supersedes"):
            if item.get(field) and item[field] not in ids:
                yield problem(
                    "warn", item["id"], f"{field} names {item[field]}, which does not exist"
                )
        for dependency in item.get("dependencies", ()):
            if dependency not in ids:
                yield problem("warn", item["id"], f"depends on {dependency}, which does not exist")
        if item["requirement"] != "deprecated":
            first = bodies.setdefault(item["sourceHash"], item["id"])
            if first != item["id"]:
                yield problem(
                    "warn", item["id"], f"has the same body as {first}: groom merges them"
                )
    for id_ in call("instructions_inspect", scope="governance")["data"]["validation"][
        "overdueReviews"
    ]:
        yield problem("warn", id_, "its review is overdue")
    if "gates.json" not in validation["configuration"]:
        for gate in call("gates_evaluate")["results"]:
            if not gate["passed"]:
                yield problem(
                    gate["severity"],
                    f"gate {gate['id']}",
                    f"{gate['count']} {gate['op']} {gate['value']} does not hold",
                )
