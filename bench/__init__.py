"""The measured claims: `make bench`. Always a ratio in one run on one machine, never a time."""
