"""The waitlist: joining, fairness and promotion."""
