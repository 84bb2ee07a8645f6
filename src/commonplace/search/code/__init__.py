"""Source code by its structure: definitions, references and chunks that follow them."""
