"""Things of which a project takes one: conventions, and tools that do the same work.

Two statements oppose each other if they take different ones of a group, and have the same words
apart from those that add nothing to the choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.instructions.engine.statements.vocabulary import stem, word_set

# name | words that add nothing to the choice | the alternatives
# "ruff/format" is an alternative only where the statement has the word behind the stroke.
_GROUPS = """
indentation | indent level character width size file | tabs spaces
quotes | string literal text quote | single-quotes double-quotes
line ends | line ending end file | crlf lf
merging | branch pull request feature commit history change | rebase merge squash
branches | branch branching workflow git strategy develop | trunk-based gitflow
commits | commit message | conventional-commits gitmoji
language | language | in-english in-german in-french in-spanish in-italian in-japanese in-chinese
functions | function | arrow-functions function-keyword
types | type | interfaces type-aliases
time zone | timezone zone time | utc local-time
packages | package manager dependency install run script command manage node | npm pnpm yarn bun
python packages | package manager dependency install manage environment python | pip poetry uv pdm
python packages | package manager dependency install manage environment python | pipenv conda
javascript tests | test unit runner suite javascript typescript | jest vitest mocha jasmine ava
python tests | test unit runner suite python | pytest unittest nose
java tests | test unit runner suite java | junit testng spock
.net tests | test unit runner suite .net | xunit nunit mstest
ruby tests | test unit runner suite ruby | rspec minitest
browser tests | test e2e end-to-end end browser ui | playwright cypress selenium testcafe
.net mocks | mock dependency test object | moq nsubstitute fakeiteasy
python format | format formatter python | black yapf autopep8 ruff/format
javascript format | format formatter javascript typescript | prettier dprint biome/format
javascript lint | lint linter format formatter javascript typescript | eslint biome oxlint tslint
python lint | lint linter python | flake8 pylint ruff/lint
python types | type check checker python | mypy pyright pyre
state | state management global manage store client app toolkit | redux zustand mobx recoil jotai
vue state | state management global manage store app | pinia vuex
styles | styling css component | tailwind bootstrap styled-components emotion css-modules sass
http client | http request client call api | axios fetch got superagent
python http | http request client call api python | requests/http httpx aiohttp urllib3
javascript orm | orm database access query | prisma drizzle typeorm sequelize mikro-orm
python orm | orm database access query python | sqlalchemy peewee sqlmodel
bundler | bundle bundler build development dev server | webpack vite rollup parcel esbuild
java build | build java | maven gradle bazel
dates | date time format handle parse manipulation | moment date-fns dayjs luxon
javascript log | log logger structured | winston pino bunyan log4js
python log | log logger structured python | structlog loguru
database | database relational db | postgresql mysql mariadb mongodb sqlite mssql
broker | message messaging queue broker event | kafka rabbitmq nats activemq
node server | server http web api backend | express fastify koa hapi nestjs
python server | server http web api backend python | flask fastapi django
javascript validation | validation validate schema runtime input | zod yup joi valibot
forms | form handle | formik react-hook-form
pipelines | ci cd pipeline continuous integration | github-actions jenkins circleci gitlab-ci
infrastructure | infrastructure iac manage provision | terraform pulumi cloudformation opentofu
components | react | functional-components class-components
"""
# Groups about anything: what the choice is about must be named, and be the same.
_GROUPS_WITH_TOPIC = """
case | name convention case | snake_case kebab-case camelcase pascalcase upper_snake_case
imports | | relative absolute
exports | | named default
loading | | lazy eager
explicitness | | implicit explicit
mutability | | mutable immutable
lines | | same-line new-line
"""
# Words of any statement about a tool or a convention.
_GENERAL = "code project codebase source file tool library framework style default standard test"
# Words that are more often something else: they count only behind a word such as "use" or "with".
AMBIGUOUS = word_set("black fetch got express ava emotion parcel nose moment requests bun")
OBJECT_SIGNS = word_set("use uses using with via through prefer by as adopt choose to")
# beginning | rest of the pattern | the name as one word
_NAMES_OF_WORDS = r"""
single | ['"]?[ -]quote[sd]?\b | single-quotes
double | ['"]?[ -]quote[sd]?\b | double-quotes
tab | (?: characters?)?\b | tabs
space | (?: characters?)?\b | spaces
in english | \b | in-english
in german | \b | in-german
in french | \b | in-french
in spanish | \b | in-spanish
in italian | \b | in-italian
in japanese | \b | in-japanese
in chinese | \b | in-chinese
screaming | [ _]snake[ _]case\b | upper_snake_case
upper | [ _]snake[ _]case\b | upper_snake_case
snake case | \b | snake_case
kebab | [ _]case\b | kebab-case
camel | [ _]case\b | camelcase
pascal | [ _]case\b | pascalcase
lowercamelcase | \b | camelcase
arrow function | s?\b | arrow-functions
function keyword | s?\b | function-keyword
interface | s?\b | interfaces
type alias | (?:es)?\b | type-aliases
function | (?:al)? components?\b | functional-components
class | (?:-based)? components?\b | class-components
components as classes | \b | class-components
the same line | \b | same-line
same line | \b | same-line
new line | \b | new-line
local time | \b | local-time
conventional commits | \b | conventional-commits
github actions | \b | github-actions
gitlab ci | \b | gitlab-ci
css modules | \b | css-modules
styled components | \b | styled-components
tailwind | [ ]?css\b | tailwind
postgres | \b | postgresql
moment.js | \b | moment
express.js | \b | express
day.js | \b | dayjs
node.js | \b | node
code coverage | \b | coverage
test coverage | \b | coverage
"""
_COUNTED = re.compile(r"\b(\d+)-(space|character|column|line)s?\b")


def _read_names() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    """Return patterns that begin with their text, which the engine finds much faster."""
    rows = (row.split(" | ") for row in _NAMES_OF_WORDS.strip().splitlines())
    return tuple(
        (begin, re.compile(f"{re.escape(begin)}(?<!\\w{re.escape(begin)}){rest}"), joined)
        for begin, rest, joined in rows
    )


_JOINED = _read_names()


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """A group; `related` are stems that add nothing to the choice."""

    name: str
    related: frozenset[str]
    needs_topic: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """A member of a group; it counts where the statement has the stem `needs`, if that is given."""

    group: Alternatives
    needs: str


def _build() -> dict[str, tuple[Alternative, ...]]:
    found: dict[str, tuple[Alternative, ...]] = {}
    for table, needs_topic in ((_GROUPS, False), (_GROUPS_WITH_TOPIC, True)):
        for row in table.strip().splitlines():
            name, related, words = (part.strip() for part in row.split("|"))
            words_left_out = related if needs_topic else f"{related} {_GENERAL}"
            stems = frozenset(stem(word) for word in word_set(words_left_out))
            group = Alternatives(name, stems, needs_topic)
            for word in words.split():
                plain, _, needed = word.partition("/")
                alternative = Alternative(group, stem(needed) if needed else "")
                found[plain] = (*found.get(plain, ()), alternative)
    return found


ALTERNATIVES = _build()


def join_names(lowered: str) -> str:
    """Write names of several words as one: "single quotes" as "single-quotes"."""
    if "-" in lowered:
        lowered = _COUNTED.sub(r"\1 \2s", lowered)
    for begin, pattern, joined in _JOINED:
        if begin in lowered:
            lowered = pattern.sub(joined, lowered)
    return lowered
