"""The rules of a change to a file: what may be stored at a path, and how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commonplace.files.checks import check_match, is_directory
from commonplace.files.errors import NOT_FOUND, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, under_a_file
from commonplace.files.model import FilePath, FileSituation
from commonplace.kernel.errors import CommonplaceError


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most bytes a file, a project and a tenant may hold; None means any."""

    file_bytes: int
    project_bytes: int
    tenant_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file; `make` turns the old content into the new one."""

    path: FilePath
    make: Callable[[bytes], bytes]
    limits: SizeLimits
    if_match: str | None = None
    must_exist: bool = False

    def decide(self, now: FileSituation) -> bytes:
        """Return the new content, or raise the rule that forbids it. Pure."""
        if now.has_descendants:
            raise is_directory(self.path)
        if now.entry is None and self.must_exist:
            raise CommonplaceError(
                NOT_FOUND, f"There is no file {self.path}.", details={"path": self.path}
            )
        if now.file_above is not None:
            raise under_a_file(self.path, now.file_above)
        check_match(now.entry, self.if_match)
        new = self.make(now.content)
        self._check_sizes(now, len(new))
        return new

    def _check_sizes(self, now: FileSituation, size: int) -> None:
        most = self.limits.file_bytes
        if size > most:
            raise CommonplaceError(
                PAYLOAD_TOO_LARGE,
                f"The file would have {size} bytes; a file may have {most}.",
                hint="Split it into several files.",
                details={"size_bytes": size, "limit_bytes": most},
            )
        added = size - len(now.content)
        if added <= 0:
            return
        total, most = now.project_bytes + added, self.limits.project_bytes
        if total > most:
            raise CommonplaceError(
                QUOTA_EXCEEDED,
                f"The project would hold {total} bytes; it may hold {most}.",
                hint="Delete files that are no longer needed, or use another project.",
                details={"needed_bytes": total, "limit_bytes": most},
            )
        if self.limits.tenant_bytes is not None:
            check_tenant_quota(now.tenant_bytes() + added, self.limits.tenant_bytes)


def check_tenant_quota(total: int, most: int) -> None:
    """Raise QUOTA_EXCEEDED if all projects of a tenant together would hold too much."""
    if total > most:
        raise CommonplaceError(
            QUOTA_EXCEEDED,
            f"All projects together would hold {total} bytes; they may hold {most}.",
            hint="Delete files that are no longer needed, or ask the operator for more.",
            details={"needed_bytes": total, "limit_bytes": most, "scope": "tenant"},
        )
