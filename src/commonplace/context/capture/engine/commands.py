"""What a command is: its programs, whether it only reads, and how it ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from commonplace.context.capture.transcript import CommandRun


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEGMENT = re.compile(r"&&|\|\||;|\n|(?<!\|)\|(?!\|)")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*)\s+")
_REDIRECTION = re.compile(r"\s*\d?>{1,2}\s*(?:&\d|/dev/null|\S+)|\s*<\s*\S+")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
# Programs that run another one, with the options that take a value.
_WRAPPERS = _words(
    "sudo time nice nohup env command exec xvfb-run stdbuf timeout npx bunx pnpx uvx dotenv direnv "
    "xargs"
)
_RUNNERS = frozenset(
    {
        ("uv", "run"),
        ("poetry", "run"),
        ("pipenv", "run"),
        ("pdm", "run"),
        ("hatch", "run"),
        ("rye", "run"),
        ("bundle", "exec"),
        ("pnpm", "exec"),
        ("npm", "exec"),
        ("yarn", "exec"),
        ("conda", "run"),
        ("mise", "exec"),
        ("nix", "develop"),
    }
)
# Programs whose first argument says what they do.
_WITH_VERB = _words(
    "git npm yarn pnpm bun cargo go docker docker-compose podman kubectl helm "
    "terraform tofu pulumi pip pip3 uv poetry make just task rake gradle gradlew mvn "
    "mvnw dotnet swift flutter dart mix rails php artisan composer bundle gem apt "
    "apt-get brew conda systemctl ansible aws gcloud az heroku fly vercel deno nx "
    "turbo bazel ninja alembic manage.py manage python-manage flask django-admin sqlx "
    "diesel prisma knex sbt lein stack cabal zig nix rustup playwright stripe expo ng "
    "next vite nuxt vue cypress celery airflow dbt scrapy hugo serverless sam cdk eas "
    "pod fastlane ionic nest wp drush symfony lerna rush pm2 minikube kind k3d "
    "skaffold tilt vault consul nomad rclone restic conan vcpkg meson west idf.py pio "
    "arduino-cli mlflow modal prefect dagster mkdocs buf cmake perl-critic "
    "commonplace gh glab adb xcodebuild vagrant packer wrangler firebase supabase"
)
_READING = _words(
    "ls cat head tail less more grep egrep rg ag find fd tree wc stat file pwd echo "
    "printf which type whereis whoami date env printenv diff cmp sort uniq cut awk "
    "sed jq yq xxd od hexdump du df ps top lsof netstat ss test [ true false sleep cd "
    "pushd popd source . export set unset clear history man tldr nl column tr rev "
    "basename dirname realpath readlink id uname hostname free uptime open code vim "
    "vi nano sha256sum md5sum read kill pkill mkdir touch cp mv rm chmod chown ln tee "
    "wait bat exa eza delta tac strings nm otool ldd objdump Get-Content "
    "Get-ChildItem Select-String curl wget ping dig nslookup host nc telnet ssh scp "
    "rsync"
)
_READING_VERBS = frozenset(
    {
        ("git", verb)
        for verb in _words(
            "status log diff show blame branch remote ls-files grep rev-parse describe stash "
            "fetch add checkout switch restore reset config tag shortlog reflog cat-file "
            "worktree commit"
        )
    }
    | {("docker", verb) for verb in ("ps", "logs", "images", "inspect", "stats")}
    | {("kubectl", verb) for verb in ("get", "describe", "logs", "top")}
    | {("npm", verb) for verb in ("ls", "view", "outdated", "list")}
    | {("gh", verb) for verb in ("pr", "issue", "run", "api", "repo")}
)
_POLISH = _words(
    "ruff black isort prettier eslint flake8 pylint gofmt goimports golangci-lint "
    "rustfmt clippy clang-format rubocop stylelint biome shfmt shellcheck swiftlint "
    "ktlint standardrb standard lint fmt format lint-staged yamllint markdownlint "
    "typos codespell pre-commit tslint oxlint dprint"
)
_FAILURE = re.compile(
    r"(?m)^(?:Traceback \(most recent call last\)|\s*error(?:\[\w+\])?: |E {2,}\S|FAILED\b|"
    r"npm (?:ERR!|error)|fatal: |"
    r"panic: |thread '[^']{1,80}' panicked|\s*\d+ failed\b|={3,} .*\b\d+ failed|.*\bBUILD FAILED|"
    r"FAILURE: |make(?:\[\d+\])?: \*\*\* |"
    r"Uncaught |\s*\w*Error: |\s*\w*Exception: |\S*: command not found|bash: |zsh: |sh: \d+: |"
    r"Segmentation fault|ERROR: |ERROR in |Error: |error TS\d+|"
    r".{0,200}: error(?: \w+\d+)?: |Tests: .*\b\d+ failed|--- FAIL|FAIL\b.{0,100}$|"
    r"test result: FAILED|exit status [1-9]|Error response from daemon|psql: error|Could not )"
)
_SUCCESS = re.compile(
    r"(?im)\b(?:\d+ passed\b(?!.*\b\d+ failed)|test result: ok|all tests passed|0 failed|"
    r"build succeeded|BUILD SUCCESS\w*|successfully|compiled successfully|up to date|done in|"
    r"finished|OK\b|completed|ok  ?\t)"
)


@dataclass(frozen=True, slots=True)
class CommandReading:
    """A command taken apart. `keys` name what it runs, such as `pytest` or `npm run build`."""

    keys: tuple[str, ...]
    is_reading: bool  # changes nothing that matters, or its failure means nothing
    is_polish: bool  # a formatter or linter


@lru_cache(maxsize=4096)
def read_command_line(command: str) -> CommandReading:
    """Take a command apart."""
    here = _HEREDOC.search(command)
    if here:
        command = command[: here.end()].replace(here[0], "")
    keys: dict[str, None] = {}
    reads = True
    for segment in _SEGMENT.split(command)[:20]:
        key = _key_of(_REDIRECTION.sub("", segment.strip()))
        if key is None:
            continue
        words = key.split(" ")
        if words[0] in _READING or tuple(words[:2]) in _READING_VERBS:
            continue
        reads = False
        keys[key] = None
    polish = bool(keys) and all(_is_polish(key) for key in keys)
    return CommandReading(tuple(keys), reads, polish)


def _is_polish(key: str) -> bool:
    return any(word.split(":")[0] in _POLISH for word in key.split(" "))


def _key_of(segment: str) -> str | None:
    """Return the program of a part of a command, with its verb."""
    while match := _ASSIGNMENT.match(segment):
        segment = segment[match.end() :]
    words = segment.strip("() ").split()
    while words:
        name = words[0].strip("'\"").rsplit("/", 1)[-1]
        if name in _WRAPPERS:
            words = words[1:]
            while words and (
                words[0].startswith("-") or re.match(r"^(?:\d+[smh]?|\w+=\S*)$", words[0])
            ):
                words = words[1:]
            continue
        if len(words) > 1 and (name, words[1]) in _RUNNERS:
            words = words[2:]
            while words and words[0].startswith("-"):
                words = (
                    words[2:]
                    if words[0] in ("--with", "--extra", "-p", "--python", "--group")
                    else words[1:]
                )
            continue
        break
    if not words:
        return None
    return _name_program(words)


def _name_program(words: list[str]) -> str:
    name = words[0].strip("'\"").rsplit("/", 1)[-1]
    rest = [word for word in words[1:] if word]
    if re.match(r"^python[\d.]*$|^py$|^node$|^ruby$|^php$|^deno$|^bun$|^ts-node$|^tsx$", name):
        if rest[:1] == ["-m"] and len(rest) > 1:
            return rest[1]
        script = next((word for word in rest if not word.startswith("-")), "")
        if script.endswith(("manage.py", "/rails")) or script == "artisan":
            verb = next(
                (word for word in rest[rest.index(script) + 1 :] if not word.startswith("-")), ""
            )
            return f"{script.rsplit('/', 1)[-1]} {verb}".strip()
        return (
            f"{name} {script.rsplit('/', 1)[-1]}".strip()
            if name != "bun"
            else f"bun {script}".strip()
        )
    if name in _WITH_VERB:
        verbs = [word for word in rest if not word.startswith("-") and "=" not in word]
        verb = verbs[0] if verbs else ""
        if name == "docker" and verb == "compose" and len(verbs) > 1:
            verb = f"compose {verbs[1]}"
        if (
            verb in ("run", "run-script")
            and name in ("npm", "yarn", "pnpm", "bun", "nx", "deno")
            and len(verbs) > 1
        ):
            verb = f"run {verbs[1]}"
        return f"{name.removesuffix('w') if name in ('gradlew', 'mvnw') else name} {verb}".strip()
    return name


def has_failed(run: CommandRun) -> bool:
    """Tell whether a command failed, also one whose exit code was lost in a pipe."""
    if run.failed:
        return True
    reading = read_command_line(run.command)
    if reading.is_reading:
        return False
    if run.failed is None or "|" in run.command or ";" in run.command:
        return bool(_FAILURE.search(run.output)) and not _ends_well(run.output)
    return False


def has_worked(run: CommandRun) -> bool:
    """Tell whether a command succeeded; where nothing tells, its output must say so."""
    if run.failed:
        return False
    if run.failed is None:
        return not _FAILURE.search(run.output) and (
            bool(_SUCCESS.search(run.output)) or len(run.output.strip()) < 400
        )
    return not has_failed(run)


def _ends_well(output: str) -> bool:
    last = output.rstrip().rsplit("\n", 3)[-3:]
    return any(_SUCCESS.search(line) and not _FAILURE.search(line) for line in last)


_TRIVIAL = re.compile(
    r"^(?:(?:npm|yarn|pnpm|bun) (?:test|t|i|install|ci|start|run (?:build|test|dev|start|lint|"
    r"format))|pytest(?: -[qvx]+)*|(?:python\d? -m )pytest(?: -[qvx]+)*|"
    r"cargo (?:build|test|run|check|clippy|fmt)|go (?:build|test|vet|run)(?: \./\.\.\.)?(?: \.)?|"
    r"make(?: (?:all|test|build|install|clean|check))?|"
    r"mvn (?:test|package|install|clean)|(?:\./)?gradlew? (?:build|test)|docker compose (?:up|"
    r"down)(?: -d)?|docker-compose (?:up|down)(?: -d)?|"
    r"pip3? install \S+|(?:bundle|composer) install|rspec|rake|mix test|dotnet (?:build|test|run)|"
    r"terraform (?:init|plan|apply)|tox|nox|tsc|swift (?:build|test)|flutter test|phpunit|ctest|"
    r"\S+)$"
)
_PURPOSES = (
    (
        "Run the tests",
        (
            r"\b(?:test|tests|pytest|jest|vitest|rspec|phpunit|ctest|nextest|spec|e2e|playwright|"
            r"cypress|nosetests|unittest|tox|nox)\b"
        ),
    ),
    (
        "Migrate the database",
        (
            r"\b(?:migrate|migration|migrations|alembic|db:migrate|prisma|flyway|liquibase|"
            r"ecto\.migrate)\b"
        ),
    ),
    (
        "Deploy",
        (
            r"\b(?:deploy|rollout|helm upgrade|kubectl apply|terraform apply|release|publish|"
            r"wrangler|fly)\b"
        ),
    ),
    (
        "Generate code",
        r"\b(?:generate|codegen|protoc|buf|sqlc|openapi-generator|makemigrations|gen)\b",
    ),
    (
        "Build",
        (
            r"\b(?:build|compile|bundle|webpack|vite|cmake|ninja|bazel|assemble|package|tsc|javac|"
            r"gcc|g\+\+|clang)\b"
        ),
    ),
    ("Start services", r"\b(?:up|serve|start|dev|runserver)\b"),
    ("Seed or load data", r"\b(?:seed|loaddata|restore|pg_restore|import|fixtures)\b"),
    ("Set up", r"\b(?:install|setup|bootstrap|sync|init|provision)\b"),
)


def is_trivial(command: str) -> bool:
    """Tell whether everybody would try this command first."""
    return len(command) < 8 or _TRIVIAL.match(command.strip()) is not None


def purpose_of(command: str) -> str:
    """Return what a command is for, from its words; empty if they do not tell."""
    for purpose, pattern in _PURPOSES:
        if re.search(pattern, command):
            return purpose
    return ""
