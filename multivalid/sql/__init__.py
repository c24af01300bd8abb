"""A fitted model as one SELECT, for tables that stay where they are."""
