"""The command that makes the vectors of the catalogue now."""

from __future__ import annotations

from commonplace.cli.printing import JsonFlag, out, print_json
from commonplace.cli.session import session


def embed(as_json: JsonFlag = False) -> None:
    """Compute missing vectors of all instructions now.

    Servers do this in the background from their first search on.

    Example:
      commonplace rules import . && commonplace instructions embed
    """
    from commonplace.instructions.use_cases.search.meaning import require_meaning

    meaning = session().app().services.instructions.meaning
    embedded = require_meaning(meaning).embed_now()
    if as_json:
        print_json({"embedded": embedded})
    else:
        out.print(f"embedded {embedded} instructions")
