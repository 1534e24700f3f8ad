"""The contract in the users' words, over real HTTP."""
