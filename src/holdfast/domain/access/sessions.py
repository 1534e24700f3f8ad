"""How long a member stays signed in on the API."""

# Without a call for this long, a session ends. Use is noted once a minute.
IDLE_SECONDS = 30 * 60
LIFETIME_SECONDS = 8 * 60 * 60
