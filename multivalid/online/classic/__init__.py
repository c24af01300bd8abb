"""The earlier algorithms on fixed levels: A, B and the paper's. They promise less than the sharp one, under assumptions on the labels."""
