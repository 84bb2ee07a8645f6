"""Review of instructions: events, what they amount to, and who may decide."""
