"""Which rules are in effect for paths, people and a task: selection, order, conflicts, budget."""
