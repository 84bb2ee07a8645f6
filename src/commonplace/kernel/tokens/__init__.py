"""Tokens of a text, as budgets count them."""

from commonplace.kernel.tokens.bound import count_tokens

__all__ = ["count_tokens"]
