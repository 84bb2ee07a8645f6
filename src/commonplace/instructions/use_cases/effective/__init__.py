"""Rules in effect: of the catalogue and of the rule files of a repository."""
