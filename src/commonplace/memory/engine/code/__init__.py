"""What is kept of code, and what became of it: pure rules of anchors."""
