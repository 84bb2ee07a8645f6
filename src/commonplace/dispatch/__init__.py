"""What a tool is, which tools there are, and the one way a call runs: resolve, authorize, limit,
validate, run, audit.
"""
