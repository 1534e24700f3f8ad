"""People: who is logged in and what they may do, members, and log-ins."""
