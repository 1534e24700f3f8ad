"""Remote holds and the reconciler of the Hold Service, and what the Inventory Service does with its
messages (`hold_follower`)."""
