"""The tools of memory: the contract's nine, and our extended ones."""
