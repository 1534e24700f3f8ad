"""Sends notices by mail."""

import smtplib
import ssl
from contextlib import ExitStack, closing, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from urllib.parse import unquote, urlsplit

from holdfast.ports.facts.notices import Notice, NoticeDeferred, NoticeFailed, NoticeRefused

# Per answer of the server; a mail takes about ten.
ANSWER_SECONDS_MAX = 5.0
SUBMISSION_PORT = 587
# Codes from here on are permanent failures: a retry does not help.
PERMANENT = 500


class SmtpNotifier:
    """Implements Notifier, for a server such as `smtp://user:password@host:587`. Each mail has its
    own connection, since an idle one is often closed by the server."""

    def __init__(self, url: str, sender: Address) -> None:
        self._url = urlsplit(url)
        self._sender = sender

    def send(self, notice: Notice) -> None:
        with closing(self._connected()) as connection:
            self._hand_over(connection, notice)
            # The server has the mail, whatever it answers now.
            with suppress(smtplib.SMTPException, OSError):
                connection.quit()

    def _connected(self) -> smtplib.SMTP:
        """The server has not seen the mail yet, so a failure here would affect every mail."""
        try:
            return self._introduced()
        except (smtplib.SMTPException, OSError) as error:
            # The text of these errors may name the host and the user.
            raise NoticeFailed(type(error).__name__) from None

    def _hand_over(self, connection: smtplib.SMTP, notice: Notice) -> None:
        """A failure from here on is about this mail. If the server is at fault after all, the next
        attempt fails to connect."""
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
                raise NoticeFailed("the mail server offers no encryption for the password")
            connection.login(unquote(self._url.username), unquote(self._url.password or ""))

    def _mail(self, notice: Notice) -> EmailMessage:
        mail = EmailMessage()
        mail["From"] = Address(notice.sender_name or "", addr_spec=self._sender.addr_spec)
        if notice.reply_to is not None:
            mail["Reply-To"] = notice.reply_to
        mail["To"] = notice.to.value
        # The name of an event must not add header lines.
        mail["Subject"] = " ".join(notice.subject.split())
        mail["Date"] = format_datetime(localtime())
        # The same for every attempt, so a duplicate can be recognized.
        mail["Message-ID"] = f"<{notice.id}@{self._sender.domain}>"
        # Suppresses out-of-office replies.
        mail["Auto-Submitted"] = "auto-generated"
        # Accepted by every mail server, even a 7-bit one.
        mail.set_content(notice.text, cte="quoted-printable")
        return mail


def _failure(code: int) -> Exception:
    """Report only the code: the server's text quotes the address."""
    return (NoticeRefused if code >= PERMANENT else NoticeDeferred)(
        f"the mail server answered {code}"
    )
