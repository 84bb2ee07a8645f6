"""Valkey (or Redis): credential envelopes and rates that several processes share."""
