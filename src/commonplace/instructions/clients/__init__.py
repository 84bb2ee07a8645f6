"""Which rule files of a repository each coding client loads, in its order and with its limits.

No client is run: the rules come from the clients' documentation, code and tests, and
`tests/unit/instructions/clients` holds them against a table of cases.
"""
