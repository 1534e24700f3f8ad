"""A real mail server on a port of 127.0.0.1 that keeps its mails."""

import base64
import socketserver
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from typing import Any, Self

from tests.support.servers import free_port


@dataclass(frozen=True)
class Received:
    """A mail, its envelope address, the user logged in, and whether the connection was
    encrypted."""

    to: str
    mail: EmailMessage
    user: str | None
    is_encrypted: bool

    @property
    def text(self) -> str:
        return str(self.mail.get_content()).replace("\r\n", "\n")


@dataclass
class MailServer:
    """`refusals` maps recipients to refusal codes; `data_refusals` does so after the mail was read.
    Mails larger than `size_max` are not read."""

    port: int = field(default_factory=free_port)
    tls: ssl.SSLContext | None = None
    refusals: dict[str, int] = field(default_factory=dict)
    data_refusals: dict[str, int] = field(default_factory=dict)
    size_max: int = 1_000_000
    greeting: bytes | None = b"220 mail.test"
    answer_to_quit: bytes | None = b"221 bye"
    received: list[Received] = field(default_factory=list)
    _server: socketserver.ThreadingTCPServer | None = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def to(self, address: str) -> list[Received]:
        return [each for each in self.received if each.to == address]

    def start(self) -> Self:
        self._server = _Listener(("127.0.0.1", self.port), partial(_Conversation, self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class _Conversation(socketserver.StreamRequestHandler):
    def __init__(self, keeper: MailServer, *arguments: Any) -> None:
        self._keeper = keeper
        self._to = ""
        self._user: str | None = None
        self._is_encrypted = False
        super().__init__(*arguments)

    def handle(self) -> None:
        with suppress(OSError):
            if self._keeper.greeting is not None:
                self._say(self._keeper.greeting)
            while line := self.rfile.readline():
                verb, _, rest = line.decode().strip().partition(" ")
                if not self._answer(verb.upper(), rest):
                    return

    def _say(self, *lines: bytes) -> None:
        self.wfile.write(b"".join(line + b"\r\n" for line in lines))

    def _answer(self, verb: str, rest: str) -> bool:
        match verb:
            case "EHLO":
                self._greet()
            case "STARTTLS":
                self._say(b"220 go ahead")
                self._encrypt()
            case "AUTH":
                self._user = base64.b64decode(rest.partition(" ")[2]).split(b"\0")[1].decode()
                self._say(b"235 welcome")
            case "MAIL":
                size = int(rest.partition("size=")[2])
                self._say(b"250 ok" if size <= self._keeper.size_max else b"552 too large")
            case "RCPT":
                self._to = rest.partition("<")[2].rstrip(">")
                code = self._keeper.refusals.get(self._to, 250)
                self._say(b"%d %s" % (code, self._to.encode()))
            case "DATA":
                self._say(b"354 speak")
                self._take()
            case "QUIT":
                if self._keeper.answer_to_quit is not None:
                    self._say(self._keeper.answer_to_quit)
                return False
            case _:
                self._say(b"250 ok")
        return True

    def _greet(self) -> None:
        offers_tls = self._keeper.tls is not None and not self._is_encrypted
        size = b"250-SIZE %d" % self._keeper.size_max
        last = b"250 " + (b"STARTTLS" * offers_tls or b"OK")
        self._say(b"250-mail.test", b"250-AUTH PLAIN", size, last)

    def _encrypt(self) -> None:
        assert self._keeper.tls is not None
        self.request = self._keeper.tls.wrap_socket(self.request, server_side=True)
        self._is_encrypted = True
        self.setup()

    def _take(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        if (code := self._keeper.data_refusals.get(self._to)) is not None:
            self._say(b"%d not from you to %s" % (code, self._to.encode()))
            return
        mail = message_from_bytes(b"".join(lines), _class=EmailMessage, policy=policy.default)
        self._keeper.received.append(Received(self._to, mail, self._user, self._is_encrypted))
        self._say(b"250 taken")
