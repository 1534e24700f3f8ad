"""Notices by mail."""

import smtplib
import ssl
from contextlib import ExitStack, closing, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from urllib.parse import unquote, urlsplit

from holdfast.ports.facts.notices import Notice, NoticeDeferred, NoticeFailed, NoticeRefused

# For each answer of the server; a mail takes about ten of them.
ANSWER_SECONDS_MAX = 5.0
SUBMISSION_PORT = 587
# Codes from here on are final: the server will not take this, however often it is asked.
PERMANENT = 500


class SmtpNotifier:
    """Implements Notifier, on a server like `smtp://user:password@host:587`. Each mail has its own
    connection: one that is kept is often found closed."""

    def __init__(self, url: str, sender: Address) -> None:
        self._url = urlsplit(url)
        self._sender = sender

    def send(self, notice: Notice) -> None:
        with closing(self._connected()) as connection:
            self._hand_over(connection, notice)
            # It has the mail, whatever it says now.
            with suppress(smtplib.SMTPException, OSError):
                connection.quit()

    def _connected(self) -> smtplib.SMTP:
        """Up to here the server knows of no mail: what goes wrong would go wrong for every one."""
        try:
            return self._introduced()
        except (smtplib.SMTPException, OSError) as error:
            # Their texts may name the host and the user.
            raise NoticeFailed(type(error).__name__) from None

    def _hand_over(self, connection: smtplib.SMTP, notice: Notice) -> None:
        """From here on it is about this mail. Should the server be at fault after all, the next
        try finds that out when it connects."""
        try:
            connection.send_message(self._mail(notice))
        except smtplib.SMTPRecipientsRefused as error:
            code, _ = next(iter(error.recipients.values()))
            raise _failure(code) from None
        except smtplib.SMTPResponseException as error:
            raise _failure(error.smtp_code) from None
        except (smtplib.SMTPException, OSError) as error:
            raise NoticeDeferred(type(error).__name__) from None

    def _introduced(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        host, port = self._url.hostname or "localhost", self._url.port
        connection: smtplib.SMTP
        if self._url.scheme == "smtps":
            connection = smtplib.SMTP_SSL(
                host, port or smtplib.SMTP_SSL_PORT, timeout=ANSWER_SECONDS_MAX, context=context
            )
        else:
            connection = smtplib.SMTP(host, port or SUBMISSION_PORT, timeout=ANSWER_SECONDS_MAX)
        with ExitStack() as on_failure:
            on_failure.callback(connection.close)
            self._introduce(connection, context)
            on_failure.pop_all()
        return connection

    def _introduce(self, connection: smtplib.SMTP, context: ssl.SSLContext) -> None:
        connection.ehlo_or_helo_if_needed()
        is_encrypted = self._url.scheme == "smtps"
        if not is_encrypted and connection.has_extn("starttls"):
            connection.starttls(context=context)
            is_encrypted = True
        if self._url.username is not None:
            if not is_encrypted:
                raise NoticeFailed("the mail server wants the password in the clear")
            connection.login(unquote(self._url.username), unquote(self._url.password or ""))

    def _mail(self, notice: Notice) -> EmailMessage:
        mail = EmailMessage()
        mail["From"] = self._sender
        mail["To"] = notice.to.value
        # A header is one line, whatever an event is called.
        mail["Subject"] = " ".join(notice.subject.split())
        mail["Date"] = format_datetime(localtime())
        # The same at every try, so that whoever gets it twice can tell.
        mail["Message-ID"] = f"<{notice.id}@{self._sender.domain}>"
        # Nobody's holiday notice need answer.
        mail["Auto-Submitted"] = "auto-generated"
        # Every mail server takes this, also one that takes seven bits only.
        mail.set_content(notice.text, cte="quoted-printable")
        return mail


def _failure(code: int) -> Exception:
    """The server's own words quote the address: only its code is told."""
    return (NoticeRefused if code >= PERMANENT else NoticeDeferred)(f"the mail server said {code}")
