"""Pure data and rules: no input, no output, no library of others."""
