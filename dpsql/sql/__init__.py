"""What was asked: text to a typed query of our own; sqlglot stops here."""
