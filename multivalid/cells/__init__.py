"""The table everything turns on: sums over (level × group), by name."""
