"""What the statements of a rule tell to do, in a form in which two rules can be compared."""
