"""What will be done, at what price and with what error."""
