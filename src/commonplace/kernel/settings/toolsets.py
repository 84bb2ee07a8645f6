"""Settings of the toolsets, below `mcp` in the configuration file."""

from __future__ import annotations

from typing import Literal

from commonplace.kernel.settings.files import FilesSettings
from commonplace.kernel.settings.section import MEBIBYTE, Section, setting

SecretsPolicy = Literal["refuse", "mask"]
AbstentionPolicy = Literal["never", "nothing", "doubt"]
StaleCodePolicy = Literal["mark", "withhold"]
Language = Literal["auto", "en", "fr"]


class MemorySettings(Section):
    link_threshold: float = setting(
        0.75, "Cosine from which two entries are suggested as linked.", minimum=0, maximum=1
    )
    generalize_threshold: float = setting(
        0.80,
        "Cosine from which episodic entries are suggested for generalisation.",
        minimum=0,
        maximum=1,
    )
    generalize_minimum: int = setting(3, "Fewest episodic entries of a generalisation.", minimum=2)
    secrets: SecretsPolicy = setting(
        "mask", "What to do with an entry that holds a secret: refuse it, or mask the secret."
    )
    language: Language = setting("auto", "Language of rekall_help; `auto` follows the locale.")
    stale_days: int = setting(90, "Entries not read for this long are stale.", minimum=1)
    retention_days: int = setting(
        0,
        "Days after which a server purges deleted entries and the text of earlier states; 0 keeps "
        "them.",
        minimum=0,
        maximum=36_500,
    )
    abstain: AbstentionPolicy = setting(
        "nothing",
        "When a search returns no results: `nothing`, if nothing in memory is near; `doubt`, also "
        "if the best result is doubtful; `never`.",
    )
    roots: tuple[str, ...] = setting(
        (),
        "Repositories, or folders of repositories, that the anchors of entries are compared with; "
        "over HTTP only these, on stdio the repository around the working directory too.",
        path=True,
    )
    stale_code: StaleCodePolicy = setting(
        "mark",
        "What `rekall_search` and `context` do with an entry whose code changed or is gone: `mark` "
        "it, or `withhold` it.",
    )


class OpenApiSettings(Section):
    roots: tuple[str, ...] = setting(
        (),
        "Folders whose files may be used; over HTTP only these, on stdio the working directory "
        "too.",
        path=True,
    )
    url_allow: tuple[str, ...] = setting(
        (),
        "Hosts that may be fetched although private; empty: public hosts only (stdio: loopback "
        "too).",
    )
    url_timeout_seconds: float = setting(20.0, "Longest fetch of a document by URL.", minimum=0.1)
    max_document_bytes: int = setting(64 * MEBIBYTE, "Largest document.", minimum=1)
    max_depth: int = setting(500, "Deepest nesting of a document.", minimum=10, maximum=5000)
    max_nodes: int = setting(5_000_000, "Most nodes of a document, aliases expanded.", minimum=1000)
    max_aliases: int = setting(100_000, "Most YAML aliases of a document.", minimum=0)
    cache_entries: int = setting(
        10, "Parsed documents kept (least recently used go first).", minimum=1, maximum=1000
    )
    max_answer_bytes: int = setting(
        1_000_000, "Answers above this size page, or write a file and say so.", minimum=1000
    )


class InstructionsSettings(Section):
    """Runtime variables of the catalogue (docs/reference/contracts/instructions.md)."""

    mutation_enabled: bool = setting(
        False, "Allow writes to the instruction catalogue.", env="MCP_ENABLE_MUTATION"
    )
    directory: str | None = setting(
        None,
        "Folder of the instruction files; unset: ./instructions if it exists, else in the data "
        "folder.",
        env="INSTRUCTIONS_DIR",
        path=True,
    )
    strict_create: bool = setting(
        False, "Overwrite of a missing id is refused.", env="MCP_INSTRUCTIONS_STRICT_CREATE"
    )
    strict_remove: bool = setting(
        False,
        "Removing any missing id is an error and removes nothing.",
        env="MCP_INSTRUCTIONS_STRICT_REMOVE",
    )
    canonical_disable: bool = setting(
        False, "Hash bodies as they are, without canonicalising.", env="MCP_CANONICAL_DISABLE"
    )
    hash_trailing_newline: bool = setting(
        False,
        "Governance hashes with a trailing newline (compatibility).",
        env="GOV_HASH_TRAILING_NEWLINE",
    )
    read_retries: int = setting(
        3,
        "Attempts to read a file on a transient error.",
        env="MCP_READ_RETRIES",
        minimum=0,
        maximum=100,
    )
    read_backoff_ms: int = setting(
        8, "First wait between read attempts.", env="MCP_READ_BACKOFF_MS", minimum=0, maximum=60_000
    )
    write_retries: int = setting(
        3, "Attempts of an atomic write.", env="MCP_ATOMIC_WRITE_RETRIES", minimum=0, maximum=100
    )
    write_backoff_ms: int = setting(
        8,
        "First wait between write attempts.",
        env="MCP_ATOMIC_WRITE_BACKOFF_MS",
        minimum=0,
        maximum=60_000,
    )
    usage_rate_limit_disabled: bool = setting(
        False, "Disable the limit of uses per id and second.", env="MCP_DISABLE_USAGE_RATE_LIMIT"
    )
    usage_clamp_disabled: bool = setting(
        False, "Do not clamp the first use of an id.", env="MCP_DISABLE_USAGE_CLAMP"
    )
    usage_flush_ms: int = setting(
        75,
        "Usage counters are written at most this late.",
        env="MCP_USAGE_FLUSH_MS",
        minimum=0,
        maximum=600_000,
    )
    features: tuple[str, ...] | None = setting(
        None, "Feature flags; unset: usage on. Set without `usage`: off.", env="INDEX_FEATURES"
    )
    agent_id: str | None = setting(
        None, "Name of the agent, written into changed entries and the audit.", env="MCP_AGENT_ID"
    )
    workspace: str | None = setting(
        None, "Workspace of new instructions (also INSTRUCTIONS_WORKSPACE).", env="WORKSPACE_ID"
    )
    graph_include_primary_edges: bool = setting(
        True, "Emit `primary` edges in the graph.", env="GRAPH_INCLUDE_PRIMARY_EDGES"
    )
    graph_large_category_cap: int | None = setting(
        None,
        "No pairwise edges for categories with more members than this.",
        env="GRAPH_LARGE_CATEGORY_CAP",
        minimum=0,
    )
    watch: bool = setting(True, "Watch the folder for edits by editors and git.")
    roots: tuple[str, ...] = setting(
        (),
        "Folders of repositories whose rule files `rules_for` may read; over HTTP only these, on "
        "stdio the working directory too.",
        path=True,
    )
    serve_drafts: bool = setting(
        False, "`rules_for` returns rules with the status draft or review too."
    )

    @property
    def usage_enabled(self) -> bool:
        return self.features is None or "usage" in self.features


class GovernanceSettings(Section):
    """Who decides about instructions, and who may read them."""

    agents_propose: bool = setting(
        False,
        "What agents add starts as a draft, and what they change in an approved instruction is "
        "proposed; a person decides.",
    )
    restrict_reads: bool = setting(
        False,
        "Instructions classified `restricted` are seen only with keys made with `--may-read "
        "restricted`.",
    )
    hidden_text: Literal["report", "block"] = setting(
        "report",
        "What happens to an instruction that hides text from readers, or runs what it fetches: "
        "`report` stores it with a warning, `block` refuses it.",
    )
    four_eyes_categories: tuple[str, ...] = setting(
        (),
        "Categories whose instructions somebody other than the author must approve; `*` for all.",
    )
    four_eyes_classifications: tuple[str, ...] = setting(
        (), "Classifications whose instructions somebody other than the author must approve."
    )


class CaptureSettings(Section):
    """Lessons and rules that are proposed at the end of a session."""

    accept_lessons: bool = setting(
        False,
        "Clear lessons that a capture proposes go to memory at once; otherwise, and always for "
        "rules, a person decides.",
    )


class McpSettings(Section):
    files: FilesSettings = FilesSettings()
    memory: MemorySettings = MemorySettings()
    openapi: OpenApiSettings = OpenApiSettings()
    instructions: InstructionsSettings = InstructionsSettings()
