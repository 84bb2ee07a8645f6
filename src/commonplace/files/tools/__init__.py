"""The tools of files: input, output, and one service call each."""
