"""What entries claim about their subjects, and which claims cannot both hold."""
