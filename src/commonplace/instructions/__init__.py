"""The governed catalogue of instructions."""
