"""Values everybody shares: errors, auth context, clock, ids, limits, configuration.

Imports nothing of ours.
"""
