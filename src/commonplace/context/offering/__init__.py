"""What clients can use beside tools: resources, prompts and completions, answered by tool calls."""
