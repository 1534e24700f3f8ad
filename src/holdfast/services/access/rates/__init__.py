"""Rate limits: which apply, and what was used of them."""
