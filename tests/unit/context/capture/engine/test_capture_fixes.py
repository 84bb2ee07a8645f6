"""Errors and fixes: which failures of a session are worth a lesson, and what it says."""

from __future__ import annotations

from commonplace.context.capture.engine.extract import extract
from commonplace.context.capture.model import ProposalText
from commonplace.context.capture.transcript import (
    CommandRun,
    SessionStep,
    Speaker,
    SpokenText,
    WrittenFile,
)


def ran(command: str, output: str = "", code: int = 0) -> CommandRun:
    return CommandRun(command, output, failed=code != 0)


def said(text: str) -> SpokenText:
    return SpokenText(Speaker.ASSISTANT, text)


def propose(*steps: SessionStep) -> list[ProposalText]:
    return [proposal.text for proposal in extract(steps, folder="/work/shop")]


TIMEOUT = "Error: Timed out waiting 60000ms from config.webServer."


def test_a_fix_has_its_error_its_cause_and_the_command_that_helped() -> None:
    (text,) = propose(
        ran("npx playwright test", TIMEOUT, 1),
        said("The web server needs the build output, which does not exist yet."),
        ran("pnpm --filter web build", "Done"),
        ran("npx playwright test", "14 passed (22.1s)"),
    )
    assert text.title == TIMEOUT.rstrip(".")
    assert text.content.splitlines() == [
        TIMEOUT,
        "Command: `npx playwright test`",
        "Cause: The web server needs the build output, which does not exist yet.",
        "Helped: `pnpm --filter web build`",
    ]


def test_the_last_explanation_counts_and_paths_are_relative() -> None:
    (text,) = propose(
        ran("pytest tests", "E   RuntimeError: Event loop is closed\n1 failed", 1),
        said("The problem is the timeout of the client."),
        WrittenFile("/work/shop/client.py"),
        ran("pytest tests", "E   RuntimeError: Event loop is closed\n1 failed", 1),
        said("The client outlives the event loop of its test, that is the real problem."),
        WrittenFile("/work/shop/tests/conftest.py"),
        ran("pytest tests", "3 passed"),
    )
    assert "outlives" in text.content
    assert "timeout" not in text.content
    assert "Changed: client.py, tests/conftest.py" in text.content


def test_a_corrected_command_is_a_lesson() -> None:
    (text,) = propose(
        ran("python tool.py", "bash: python: command not found", 127),
        ran("python3 tool.py", "ok"),
    )
    assert "Worked: `python3 tool.py`" in text.content


def test_a_failure_that_was_meant_or_not_solved_is_not_proposed() -> None:
    failing = ran("npx vitest run", "AssertionError: expected 100 to be 90\n1 failed", 1)
    assert propose(failing, said("Good, it fails as expected."), WrittenFile("a.ts")) == []
    working = ran("npx vitest run", "1 passed")
    assert propose(failing, WrittenFile("a.ts"), working) == []
    assert propose(ran("make all", "make: *** [x] Error 2", 2), said("I give up.")) == []
    assert propose(ran("grep -r x", "", 1), ran("grep -r y", "found")) == []
    lint = ran("ruff check .", "error: unused import", 1)
    assert propose(lint, said("I remove it because it is unused."), ran("ruff check .", "ok")) == []


def test_a_remedy_that_failed_itself_is_told_once() -> None:
    texts = propose(
        ran(
            "bin/rails server", "x:1:in `require': cannot load such file -- nokogiri (LoadError)", 1
        ),
        ran("bundle install", "ERROR:  Failed to build gem native extension.", 5),
        said("The lock file lists no platform that fits this machine."),
        ran("bundle lock --add-platform arm64-darwin", "Writing lockfile"),
        ran("bundle install", "Bundle complete!"),
        ran("bin/rails server", "Listening on http://127.0.0.1:3000"),
    )
    assert [text.title for text in texts] == ["ERROR: Failed to build gem native extension"]


def test_a_named_command_that_worked_is_a_lesson() -> None:
    texts = propose(
        SpokenText(Speaker.USER, "I cannot pull, permission denied."),
        said("Run `ssh-add ~/.ssh/id_work` once."),
        SpokenText(Speaker.USER, "that worked, thanks"),
    )
    assert [text.title for text in texts] == ["Command that worked: ssh-add ~/.ssh/id_work"]


def test_a_problem_that_was_explained_changed_and_confirmed_is_a_lesson() -> None:
    (text,) = propose(
        SpokenText(Speaker.USER, "I get a CORS error when calling the staging API."),
        said("The API only allows the production origin. I add localhost."),
        WrittenFile("/work/shop/server.ts"),
        SpokenText(Speaker.USER, "works now, thanks!"),
    )
    assert text.title == "I get a CORS error when calling the staging API"
    assert text.content.endswith("Cause: The API only allows the production origin.")


LOCKED = "Error: UPGRADE FAILED: another operation is in progress"


def test_only_what_was_done_after_the_last_failure_helped() -> None:
    upgrade = "helm upgrade --install search ./charts/search"
    (text,) = propose(
        ran(upgrade, LOCKED, 1),
        ran("helm history search", "7 deployed\n8 pending-upgrade"),
        ran("helm rollback search 7", "Rollback was a success!"),
        ran(upgrade, LOCKED, 1),
        ran("kubectl get secret -l status=pending -o name | xargs kubectl delete", "deleted"),
        ran(upgrade, "Release has been upgraded."),
    )
    assert "Helped: `kubectl get secret -l status=pending -o name | xargs kubectl delete`" in (
        text.content.splitlines()
    )
    assert "Worked:" not in text.content  # another verb of the same program is no variant
    assert "history" not in text.content


def test_a_search_for_a_word_did_not_help() -> None:
    (text,) = propose(
        ran("mix test", "** (Mix) Could not start application orders", 1),
        ran("grep -rn Poolboy config", "config/test.exs:9: pool: Poolboy"),
        said("The cause is the pool in config/test.exs, which was removed from this version."),
        WrittenFile("/work/shop/config/test.exs"),
        ran("mix test", "212 tests, 0 failures"),
    )
    assert "Helped:" not in text.content


def test_errors_of_pnpm_are_errors() -> None:
    (text,) = propose(
        ran("pnpm add picker", " ERR_PNPM_PEER_DEP_ISSUES  Unmet peer dependencies", 1),
        said("date-fns 2.30 is too old for picker 9; it needs date-fns 3 or 4."),
        ran("pnpm add date-fns@^4 picker", "Done in 3.2s"),
    )
    assert "too old" in text.content
    assert "Worked: `pnpm add date-fns@^4 picker`" in text.content
