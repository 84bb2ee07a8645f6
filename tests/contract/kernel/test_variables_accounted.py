"""Every variable of docs/reference/contracts/instructions.md is tested or has no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.cli.reference import by_variable
from commonplace.kernel.settings import ENVIRONMENT_ALIASES, WITHOUT_EFFECT

SERVER_TESTS = Path(__file__).parents[2] / "server"
SERVER_TEST_SOURCES = "".join(
    (SERVER_TESTS / name).read_text()
    for name in (
        "test_variables_of_the_server.py",
        "test_variables_of_instructions.py",
        "test_search_server.py",
    )
)

VARIABLES = """
    MCP_ENABLE_MUTATION MCP_LOG_VERBOSE MCP_LOG_MUTATION MCP_LOG_FILE GOV_HASH_TRAILING_NEWLINE
    INSTRUCTIONS_DIR MCP_INSTRUCTIONS_STRICT_CREATE MCP_INSTRUCTIONS_STRICT_REMOVE
    MCP_CANONICAL_DISABLE MCP_READ_RETRIES MCP_READ_BACKOFF_MS MCP_ATOMIC_WRITE_RETRIES
    MCP_ATOMIC_WRITE_BACKOFF_MS MCP_CATALOG_MEMOIZE MCP_CATALOG_DIAG MCP_CATALOG_FILE_TRACE
    MCP_DISABLE_USAGE_RATE_LIMIT MCP_DISABLE_USAGE_CLAMP MCP_USAGE_FLUSH_MS INDEX_FEATURES
    MCP_LOG_DIAG MCP_DISABLE_EARLY_STDIN_BUFFER MCP_IDLE_KEEPALIVE_MS MCP_SHARED_SERVER_SENTINEL
    MCP_HANDSHAKE_TRACE MCP_HANDSHAKE_FALLBACKS MCP_INIT_FALLBACK_ALLOW MCP_INIT_FRAME_DIAG
    MCP_HEALTH_MIXED_DIAG MCP_DISABLE_INIT_SNIFF MCP_LOG_ROTATE_BYTES MCP_TRACE_DIR
    MCP_TRACE_MAX_BYTES MCP_TRACE_SESSION MCP_TRACE_FILTER MCP_TRACE_FILTER_DENY MCP_AGENT_ID
    MCP_DASHBOARD MCP_DASHBOARD_PORT MCP_DASHBOARD_HOST MCP_DASHBOARD_TRIES WORKSPACE_ID
    INSTRUCTIONS_WORKSPACE DIST_WAIT_MS EXTEND_DIST_WAIT DIST_WAIT_DEBUG SKIP_PROD_DEPLOY
    MULTICLIENT_TRACE MCP_FORCE_REBUILD GRAPH_INCLUDE_PRIMARY_EDGES GRAPH_LARGE_CATEGORY_CAP
"""
CONTRACT_000 = frozenset(VARIABLES.split())
OURS = frozenset({"COMMONPLACE_MODELS"})


def test_the_settings_accept_exactly_the_contracts_variables_and_ours() -> None:
    assert by_variable().keys() | WITHOUT_EFFECT.keys() == CONTRACT_000 | OURS
    assert not by_variable().keys() & WITHOUT_EFFECT.keys()
    assert ENVIRONMENT_ALIASES.keys() <= CONTRACT_000


@pytest.mark.parametrize("variable", sorted(by_variable()))
def test_a_variable_with_effect_is_used_in_a_test_of_the_shipped_program(variable: str) -> None:
    assert f'"{variable}"' in SERVER_TEST_SOURCES
