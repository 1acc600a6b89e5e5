"""Members from any CSV: a person says what its columns mean, and rows are checked one by one."""
