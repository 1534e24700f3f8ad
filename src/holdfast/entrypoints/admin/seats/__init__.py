"""The pages of blocks and seats, and the picture of a hall."""
