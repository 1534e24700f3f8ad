"""The search box for everything that a buyer may name on the phone, and refused attempts."""
