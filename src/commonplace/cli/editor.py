"""Text that a person changes in an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commonplace.cli.printing import say
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError


@contextmanager
def edit_text(name: str, before: str, alternative: str) -> Iterator[str]:
    """Open a text in $VISUAL or $EDITOR and yield what was saved.

    A changed draft is kept if the block fails. `alternative`: what to do without an editor.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise CommonplaceError(
            INVALID_ARGUMENT, "No editor is set.", hint=f"Set EDITOR, or {alternative}."
        )
    folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    draft = folder / f"{name}.md"
    opened = f"{before}\n".encode()
    draft.write_bytes(opened)
    saved = False
    try:
        yield _edit(editor, draft)
        saved = True
    finally:
        if saved or draft.read_bytes() == opened:
            shutil.rmtree(folder)
        else:
            say(f"your text is kept in {draft}")


def is_unchanged(before: str, after: str) -> bool:
    """Tell whether an edited text is the one before; editors end it with a line break."""
    return after in (before, before + "\n")


def _edit(editor: str, draft: Path) -> str:
    ended = subprocess.run(  # noqa: S603 - the editor of the user
        [*shlex.split(editor), str(draft)], check=False
    )
    if ended.returncode:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{editor} ended with {ended.returncode}; nothing was changed.",
            hint="Set EDITOR to another editor.",
        )
    try:
        return draft.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "The text is not UTF-8; nothing was changed.",
            hint="Save it as UTF-8.",
        ) from None
