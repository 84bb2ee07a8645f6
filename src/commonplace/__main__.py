"""`python -m commonplace`."""

from __future__ import annotations

import sys

from commonplace.cli import main

if __name__ == "__main__":
    sys.exit(main())
