"""Statements of a user that are rules, decisions or facts, and those that are none."""

from __future__ import annotations

import pytest

from commonplace.context.capture.engine.extract import extract
from commonplace.context.capture.model import ProposalKind, ProposalText
from commonplace.context.capture.transcript import CommandRun, Speaker, SpokenText

RULES = [
    "Always run the linter before you commit.",
    "Please never push to main directly.",
    "From now on, write commit messages in English.",
    "In this repo we use tabs, not spaces.",
    "We don't mock the database in integration tests.",
    "Stop adding comments that restate the code.",
    "All endpoints must return RFC 7807 problem documents.",
    "Every migration needs a down step.",
    "Do not commit generated files to this repository.",
    "Don't use any in our TypeScript code, ever.",
    "When you add a new setting, also add it to docs/settings.md.",
    "Whenever you touch the schema, regenerate the client.",
    "Our convention is that test files end in _spec.rb.",
    "Public functions must have docstrings.",
    "New components go into packages/ui, never into apps.",
    "You should always ask before deleting data.",
    "Dates must be stored in UTC.",
    "Please remember for the future: errors are shown to customers, so keep internals out of them.",
    "I told you already, use the repository pattern and not raw SQL in handlers.",
    "Never log personal data.",
    "Use British spelling in user-facing texts, always.",
    "Feature flags have to be removed within two sprints, that is our policy.",
    "No default exports in this codebase please.",
    "We only deploy on Tuesdays.",
    "Imports should be absolute everywhere in this project.",
    "Bitte niemals direkt auf main pushen.",
    "Tests müssen immer ohne Netzwerk laufen.",
    "Ne committez jamais de fichiers générés.",
    "Nunca uses console.log en producción.",
    "For all new services we use gRPC.",
    "Keep functions under 40 lines in this project.",
    "Going forward, every PR needs a changelog entry.",
    "Don't ever force-push shared branches.",
    "As a rule, handlers contain no business logic.",
    "Prefer composition over inheritance in our code.",
]
NO_RULES = [
    "It always fails on the second run.",
    "The cache is never invalidated, why?",
    "Should we always use UTC?",
    "Make sure the button is blue.",
    "Don't touch the header for now.",
    "I never understood this code.",
    "Can you add a test for every branch of this function?",
    "Please run all tests and show me the output.",
    "This never happened before.",
    "We always had trouble with this vendor.",
    "Use a dict here instead of a list.",
    "Don't forget to update the snapshot.",
    'The docs say "always call close()".',
    "Never mind, I found it.",
    "It must be a typo.",
    "You must be joking.",
    "Every test fails now.",
    "All files in src need to be moved to lib.",
    "The server must be restarted.",
    "Remove the old endpoint and do not touch the new one.",
    "Fix all errors in this file.",
    "We use React and TypeScript.",
    "I only changed the readme.",
    "All tests should pass now.",
    "Every request should take under 100 ms, but it takes 3 s.",
    "The response always contains the id.",
    "When you are done, tell me.",
    "When you run it, it crashes.",
    "Why do we never see this error locally?",
    "Add a column to each table please.",
]
DECISIONS = [
    "We decided to drop Python 3.9 support because of the typing syntax.",
    "Let's use Kafka instead of RabbitMQ since we need replay.",
    "Decision: feature flags live in the database.",
    "We agreed that the API stays REST for now, GraphQL is off the table.",
    "After some discussion we went with server-side rendering rather than a SPA because of SEO.",
    "We're going with Tailwind, the design team already uses it.",
    "Ok, then we will keep the monorepo, because splitting it would break the release process.",
    "I'd rather have two tables than one wide one; let's do that because queries stay simple.",
    "We settled on a 30-day retention for logs.",
    "We chose Argo CD over Flux because the UI helps support.",
    "Let's stick with Celery, we don't want to rewrite the retry logic.",
    "Wir haben beschlossen, Keycloak statt Auth0 zu verwenden.",
    "On a décidé de rester sur MySQL parce que la migration coûte trop cher.",
    "Hemos decidido usar Vue en lugar de React porque el equipo lo conoce.",
    "The team has decided against microservices.",
    "Go with option B, the outbox table, because it survives a crash.",
]
NO_DECISIONS = [
    "Let's look at the logs first.",
    "Let's use a loop here.",
    "Have we decided on a name?",
    "We have not decided on the database yet.",
    "If we go with Kafka we need more machines.",
    "Maybe we should use Redis instead of Postgres.",
    "Use a set instead of a list here.",
    "Let's see what happens.",
    "I went with you to the meeting because of that.",
    "Which one should we pick, Kafka or RabbitMQ?",
    "Let's run the tests again because the last run was interrupted.",
    "I chose the wrong file, sorry.",
    "Keep going.",
    "Let's fix the tests first because they block the release.",
    "We could go with SQLite instead of Postgres.",
    "Use the blue icon instead of the red one.",
    "Let's take a break.",
]
FACTS = [
    "Remember that the staging database is wiped every Sunday.",
    "Note to self: the exporter needs the VPN.",
    "Gotcha: the mock server ignores trailing slashes.",
    "Keep in mind that the legacy API returns amounts in cents.",
    "FYI, the vendor API allows 10 requests per second.",
    "Lesson learned: never trust the exit code of that script.",
]


def propose(text: str, speaker: Speaker = Speaker.USER) -> list[ProposalText]:
    return [proposal.text for proposal in extract([SpokenText(speaker, text)])]


@pytest.mark.parametrize("sentence", RULES)
def test_a_rule_of_the_user_is_proposed(sentence: str) -> None:
    assert [text.kind for text in propose(sentence)] == [ProposalKind.RULE]


@pytest.mark.parametrize("sentence", DECISIONS)
def test_a_decision_is_proposed_as_a_lesson(sentence: str) -> None:
    assert [(text.kind, text.type) for text in propose(sentence)] == [("lesson", "decision")]


@pytest.mark.parametrize("sentence", FACTS)
def test_a_fact_to_remember_is_proposed_as_a_lesson(sentence: str) -> None:
    assert [text.kind for text in propose(sentence)] == [ProposalKind.LESSON]


@pytest.mark.parametrize("sentence", [*NO_RULES, *NO_DECISIONS])
def test_talk_is_not_proposed(sentence: str) -> None:
    assert propose(sentence) == []


@pytest.mark.parametrize("sentence", RULES)
def test_a_rule_that_a_model_or_a_tool_states_is_not_proposed(sentence: str) -> None:
    assert not [text for text in propose(sentence, Speaker.ASSISTANT) if text.kind == "rule"]
    assert extract([CommandRun("cat notes.md", f"{sentence}\n{sentence}", failed=False)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nAlways run the linter before you commit.\n```",
        "> Always run the linter before you commit.",
        "    Always run the linter before you commit.",
        "<b>Always run the linter before you commit.</b>",
        'The README says: "always run the linter before you commit".',
    ],
)
def test_what_a_user_quotes_is_not_proposed(text: str) -> None:
    assert propose(text) == []


def test_what_a_user_takes_back_is_not_proposed() -> None:
    steps = [
        SpokenText(Speaker.USER, "Let's use Redis instead of Postgres because it is faster."),
        SpokenText(Speaker.ASSISTANT, "I start with Redis."),
        SpokenText(Speaker.USER, "Scratch that, no Redis."),
    ]
    assert extract(steps) == []


def test_the_same_statement_is_proposed_once_and_its_denial_too() -> None:
    texts = (
        "Always commit the generated client.",
        "Please always commit the generated client!",
        "Never commit the generated client.",
    )
    steps = [SpokenText(Speaker.USER, text) for text in texts]
    assert len(extract(steps)) == 2


def test_a_replaced_word_makes_another_statement() -> None:
    texts = [f"Always test the pages of the console in {mode} mode." for mode in ("dark", "light")]
    assert len(extract([SpokenText(Speaker.USER, text) for text in texts])) == 2


def test_a_statement_about_a_secret_is_not_kept() -> None:
    assert propose("Remember that the admin password is Zebra77!x") == []
    (rule,) = propose("Always send the header X-Token: abcDEF123456ghiJKL789 to staging.")
    assert "abcDEF" not in rule.content
    assert "[masked]" in rule.content
