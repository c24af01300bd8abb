"""The practical fit with columns to search in: groups that nobody named, as rules, as trees, or as both."""
