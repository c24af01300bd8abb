"""The sharp algorithm: bets on (group, bucket) decide, without a draw, when a sharp guide may not be followed."""
