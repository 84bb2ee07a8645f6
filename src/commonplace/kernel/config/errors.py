"""The error of a wrong configuration."""

from __future__ import annotations

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError


def config_error(
    message: str, *, hint: str | None = None, name: str | None = None
) -> CommonplaceError:
    """Return an INVALID_CONFIG error. `name` is the dotted name of the setting."""
    return CommonplaceError(
        INVALID_CONFIG, message, hint=hint, details={"key": name} if name else None
    )
