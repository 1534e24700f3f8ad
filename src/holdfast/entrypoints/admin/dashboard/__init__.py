"""The front page of the admin: what is on sale, what happens now, and what needs attention."""
