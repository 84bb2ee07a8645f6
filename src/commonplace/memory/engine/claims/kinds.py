"""Values of one kind, of which a thing has one at a time: branches, encodings, regions, tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from commonplace.memory.engine.lexicon import names_a_thing
from commonplace.memory.engine.terms import terms_of_name, terms_of_word

# kind | words that say nothing but the kind | names; "rest/call" only beside the word "call".
_NAMES: Final = """
branch | branch pull request pr merge | main/branch master/branch trunk/branch develop/branch
encoding | encoding encoded charset | utf-8 utf-16 latin-1 iso-8859-1 iso-8859-15 windows-1252 ascii
eviction | eviction policy | allkeys-lru allkeys-lfu noeviction volatile-lru volatile-ttl
python format | format formatter | black/format yapf autopep8 ruff
web format | format formatter | prettier dprint biome/format
web lint | lint linter | eslint biome oxlint tslint standardjs
python lint | lint linter | flake8 pylint ruff
python types | type check checker | mypy pyright pyre
web packages | package manager dependency install | npm pnpm yarn bun
python packages | package manager dependency install | pip poetry uv pdm pipenv conda hatch
web tests | test runner suite | jest vitest mocha jasmine karma
python tests | test runner suite | pytest unittest nose
java tests | test runner suite | junit testng spock
.net tests | test runner suite | xunit nunit mstest
browser tests | test suite browser | playwright cypress selenium testcafe puppeteer
database | database relational db | postgresql mysql mariadb oracle mongodb sqlite mssql cockroachdb
database | database relational db | couchdb dynamodb cassandra firestore
warehouse | warehouse query | bigquery snowflake redshift clickhouse databricks
cache | cache | redis memcached valkey hazelcast
broker | message queue broker bus | kafka rabbitmq sqs nats activemq pulsar mqtt kinesis
jobs | task job queue worker background | celery dramatiq sidekiq resque rq huey bullmq
scheduler | schedule scheduler pipeline | airflow dagster prefect luigi
pipelines | ci pipeline build | jenkins circleci gitlab-ci github-actions buildkite travis teamcity
infrastructure | infrastructure | terraform pulumi cloudformation opentofu bicep
image | image base container docker | alpine debian distroless ubuntu centos fedora
java build | build | maven gradle bazel
language | language code written | kotlin java scala
login | login sign-in signin auth authentication | okta auth0 keycloak entra cognito adfs ory
log lines | log line format | logfmt json/log
licence | licence license licensed | mit/licen apache-2.0 gpl-3.0 gplv3 lgpl mpl-2.0 agpl-3.0
calls | call protocol | grpc rest/call graphql soap
updates | live update push | websocket polling server-sent-events sse long-polling
secrets | secret password | vault secrets-manager ssm sops doppler 1password key-vault
hash | hash password | bcrypt argon2 argon2id scrypt pbkdf2 md5 sha-256 sha-1
compression | compression compressed | gzip zstd brotli lz4 snappy
serialisation | format encoded serialisation serialization | protobuf avro parquet flatbuffers
pictures | image picture format | webp avif jpeg png
dates | date | moment date-fns dayjs luxon
javascript orm | orm | prisma drizzle typeorm sequelize
python http | http client request | httpx aiohttp urllib3 requests/http
monitoring | monitoring metric | prometheus datadog newrelic cloudwatch
errors | error report | sentry rollbar bugsnag
mail | mail email sms send | twilio sendgrid mailgun postmark brevo mailjet vonage
cards | card payment charge | stripe adyen braintree mollie paypal
app | app mobile | flutter react-native xamarin ionic
cloud | cloud | aws azure gcp
state | state store | redux zustand mobx recoil jotai
merge | merge merging pull request pr history | squash rebase/merge merge-commit
indentation | indentation indent | tabs spaces
ids | id identifier key | uuidv4 uuidv7 ulid snowflake/id autoincrement
zone | time timestamp zone | utc local-time europe/paris europe/berlin europe/madrid
bundler | bundle bundler build | webpack vite rollup parcel esbuild turbopack
flags | flag feature | launchdarkly unleash flagsmith
web server | proxy server | nginx haproxy traefik envoy caddy
templates | template mail email | mjml twig handlebars jinja blade
byte order | order byte field | little-endian big-endian network-byte-order
money | money amount price | cents decimal
"""
_JOINED: Final = {
    "github actions": "github-actions",
    "gitlab ci": "gitlab-ci",
    "secrets manager": "secrets-manager",
    "server-sent events": "server-sent-events",
    "key vault": "key-vault",
    "react native": "react-native",
    "network byte order": "big-endian",
    "latin1": "latin-1",
    "utf8": "utf-8",
    "postgres": "postgresql",
    "local time": "local-time",
    "heure locale": "local-time",
    "heure de paris": "europe/paris",
    "merge commit": "merge-commit",
    "squash-merged": "squash",
    "squashed": "squash",
    "websockets": "websocket",
    "day.js": "dayjs",
    "apache 2.0": "apache-2.0",
}
_BRANCH_SIGNS: Final = ("branch", "pull request", "merge request", " pr ", " prs", "repo")
_ZONE_NAMES: Final = frozenset(("europe/paris", "europe/berlin", "europe/madrid"))
# Kinds of which a thing often has several, so that more must be the same.
_MANY: Final = frozenset(("path", "variable", "clock", "weekday", "status", "exit"))

_PATTERNS: Final = {
    "region": re.compile(
        r"\b((?:us|eu|ap|sa|ca|me|af|il)-[a-z]+-\d|(?:europe|us|asia)-[a-z]+\d"
        r"|(?:west|north)europe|(?:east|west|central)us\d?)\b"
    ),
    "branch": re.compile(r"\b(?:branch (?:called|named) |la branche )`?([a-z][\w/-]*)"),
    "weekday": re.compile(
        r"\b((?:mon|tues|wednes|thurs|fri|satur|sun)day|lundi|mardi|mercredi|jeudi|vendredi"
        r"|samedi|dimanche)s?\b"
    ),
    "status": re.compile(
        r"\b(?:answers?|returns?|gives?|status|code|http|gets?|renvoie|répond)"
        r"(?: with| a| an| un| par)? ([1-5]\d\d)\b"
    ),
    "exit": re.compile(r"\bexits?(?: with)?(?: code| status)? (\d+)\b"),
    "clock": re.compile(
        r"\b(?:at|à|around|vers) (\d{1,2}(?::\d\d| ?h(?:eures?\b)?(?: ?\d\d)?| ?[ap]m\b))"
    ),
}
# These are read with their capitals.
_WRITTEN: Final = {
    "variable": re.compile(
        r"\b(?:from|in|by|reads|sets?|export|dans|par|lit)\s+`?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
    ),
    "path": re.compile(
        r"\b(?:from|in|by|at|to|into|under|dans)\s+`?"
        r"((?:[\w.-]+/)+[\w.-]+|[\w-]+\.(?:ya?ml|json|toml|ini|conf|cfg|xml|properties|env))\b"
    ),
    "owner": re.compile(
        r"\b(?i:owned by|maintained by|belongs to|responsibility of|maintenu par|tenu par"
        r"|appartient à|c['\u2019]est)\s+(?i:the |our |l['\u2019])?(?i:équipe )?"
        r"((?:[A-ZÉ][\w-]+\s?)+)"
        r"|\b(?i:the )?((?:[A-ZÉ][\w-]+\s)+)(?:team )?(?:owns|maintains)\b"
    ),
}
_VERSION: Final = re.compile(
    r"\b([A-Z][A-Za-z.+#]*[a-z.+#]|PHP|\.NET)\s+(?:version\s+)?(\d+(?:\.\d+)*)\b"
)
_DENIED_BEFORE: Final = re.compile(
    r"(?i)(?:\bnot|\bno|\bnever|n['\u2019]t|\bwithout|\binstead of|\brather than|\bunlike|\bover"
    r"|\b(?:away|moved|switched|migrated) from|\bpas|\bplus|\bjamais|\bsans|\baucun|\bau lieu d[eu]"
    r"|\bplutôt qu[e'\u2019])\s+(?:[\w'\u2019-]+\s+){0,2}$"
)
_DENIED_BEHIND: Final = re.compile(
    r"(?i)^[\w\s'\u2019-]{0,30}?\b(?:(?:is|are|was|were|has been|have been) (?:gone|removed|dropped"
    r"|replaced|retired|abandoned|ignored|forbidden|shut down|not\b|no longer|never)"
    r"|isn['\u2019]t|aren['\u2019]t|n['\u2019]est (?:plus|pas)"
    r"|a été (?:essayé|abandonné|remplacé|retiré|supprimé)|est (?:abandonné|interdit|ignoré))"
)
_PAST: Final = re.compile(
    r"(?i)\b(?:used to|until (?:20\d\d|last)|formerly|previously|back then|in 20[01]\d"
    r"|jusqu['\u2019]en|autrefois|avant 20\d\d)\b"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A value of a kind in a sentence; denied as in "instead of Celery" or "ESLint is gone"."""

    kind: str
    value: str
    denied: bool


Names = dict[str, tuple[tuple[str, str], ...]]


def _build() -> tuple[re.Pattern[str], Names, dict[str, frozenset[str]]]:
    names: Names = {}
    related: dict[str, frozenset[str]] = {}
    for row in _NAMES.strip().splitlines():
        kind, signs, values = (part.strip() for part in row.split(" | "))
        related[kind] = frozenset(term for word in signs.split() for term in terms_of_word(word))
        for value in values.split():
            name, _, needed = (value, "", "") if value in _ZONE_NAMES else value.partition("/")
            names[name] = (*names.get(name, ()), (kind, needed))
    written = sorted({*names, *_JOINED}, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in written)
    return re.compile(rf"(?<![\w./-])(?:{pattern})(?![\w-]|\.\w)"), names, related


_NAMED, _KINDS, _RELATED = _build()


def terms_of_kind(kind: str) -> frozenset[str]:
    """Return the terms that say nothing but the kind: "encoding", "file encoded"."""
    return _RELATED.get(kind, frozenset())


def terms_of_value(kind: str, value: str) -> frozenset[str]:
    """Return the terms of a value that say nothing of its subject: not those of a path."""
    return frozenset() if kind in _WRITTEN.keys() - {"owner"} else terms_of_name(value)


def often_has_several(kind: str) -> bool:
    """Say whether a thing often has several values of a kind."""
    return kind in _MANY


def find_mentions(text: str, entry: str) -> tuple[Mention, ...]:
    """Return the values that a sentence of an entry states or denies; nothing of the past."""
    if _PAST.search(text):
        return ()
    return tuple(
        Mention(kind, value, _is_denied(text, start, end))
        for kind, value, start, end in _find_values(text, entry.casefold())
    )


def _find_values(text: str, entry: str) -> Iterator[tuple[str, str, int, int]]:
    lowered = text.casefold()
    if len(lowered) != len(text):
        return  # places would not agree
    for match in _NAMED.finditer(lowered):
        name = _JOINED.get(match[0], match[0])
        for kind, needed in _KINDS.get(name, ()):
            signs = _BRANCH_SIGNS if kind == "branch" else (needed,)
            if any(sign in entry for sign in signs):
                yield kind, name, match.start(), match.end()
    for patterns, read in ((_PATTERNS, lowered), (_WRITTEN, text)):
        for kind, pattern in patterns.items():
            for match in pattern.finditer(read):
                group = match.lastindex or 0
                yield kind, match[group].strip(), match.start(group), match.end(group)
    for match in _VERSION.finditer(text):
        if not names_a_thing(match[1].casefold(), ""):
            yield f"version of {match[1].casefold()}", match[2], match.start(), match.end()


def _is_denied(text: str, start: int, end: int) -> bool:
    return bool(_DENIED_BEFORE.search(text[:start]) or _DENIED_BEHIND.search(text[end:]))
