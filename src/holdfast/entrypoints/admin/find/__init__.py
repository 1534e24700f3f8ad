"""Finding: one box for all that a buyer may name on the phone, and why a buyer was refused."""
