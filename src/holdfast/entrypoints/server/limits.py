"""Limits of a connection: sizes, times and numbers. docs/limits.md lists them."""

HEAD_BYTES_MAX = 64 * 1024
HEADERS_MAX = 100
HEAD_SECONDS_MAX = 10.0
BODY_BYTES_MAX = 10 * 1024 * 1024
BODY_SECONDS_MAX = 60.0
IDLE_SECONDS_MAX = 75.0
# Between two parts of a body, and for a client that does not read its response.
SILENT_SECONDS_MAX = 30.0
# How long a connection stays open for a client that still sends after its last response. Closing it
# at once could make the client lose the response.
LINGER_SECONDS_MAX = 2.0
# One read has up to 256 KB, so it is parsed in pieces. Parsing stops once this many requests are
# parsed but not started; one piece may exceed that.
PIECE_BYTES = 16 * 1024
PIPELINED_MAX = 16
# Connections beyond the limit that may still send their request before they are closed: otherwise
# they would not get the response.
REFUSED_MAX = 64
# Parts of a body are joined when there are this many: small ones take much more memory than their
# bytes.
PARTS_MAX = 64
# Unread bytes of a body; beyond this, the connection pauses reading.
BODY_BUFFER_BYTES = 64 * 1024
