"""Optional parts of the installation, and the packages they bring."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError

EXTRAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "scale": ("PostgreSQL, Valkey and external models", ("psycopg", "redis", "cryptography")),
    "code": ("search that follows the structure of source code", ("tree_sitter",)),
    "console": ("the web console", ("jinja2", "markdown_it", "pygments", "httpx")),
    "embeddings": (
        "search by meaning",
        ("numpy", "onnx", "onnxruntime", "tokenizers", "usearch"),
    ),
}
"""By name: what an extra is for, and the modules it brings."""


def explain_missing_module(error: ModuleNotFoundError) -> CommonplaceError | None:
    """Return an error that names the extra to install, or None if the module is of none."""
    module = (error.name or "").partition(".")[0]
    for extra, (purpose, modules) in EXTRAS.items():
        if module in modules:
            return CommonplaceError(
                INVALID_CONFIG,
                f"This needs the extra `{extra}` ({purpose}); the package {module} is not "
                f"installed.",
                hint=f"Run: pip install 'commonplace[{extra}]'",
                details={"extra": extra, "module": module},
            )
    return None
