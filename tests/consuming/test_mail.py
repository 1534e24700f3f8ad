"""Outgoing mails: untrusted text cannot break them, and only a known server gets the password."""

import io
import ssl
import subprocess
from collections.abc import Iterator
from email.headerregistry import Address
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast.adapters.mail import smtp
from holdfast.adapters.mail.console import ConsoleNotifier
from holdfast.adapters.mail.smtp import SmtpNotifier
from holdfast.domain.values import EmailAddress
from holdfast.ports.facts.notices import Notice, NoticeDeferred, NoticeFailed, NoticeRefused
from tests.consuming.mail_server import MailServer

BUYER = "buyer@example.com"


def a_notice(subject: str = "Your tickets", text: str = "Thank you.\n") -> Notice:
    return Notice(uuid4(), EmailAddress(BUYER), subject, text)


def notifier(server: MailServer, *, login: str = "", host: str = "127.0.0.1") -> SmtpNotifier:
    url = f"smtp://{login}{host}:{server.port}"
    return SmtpNotifier(url, Address(addr_spec="tickets@shop.example"))


class TestMails:
    def test_a_mail_arrives_unchanged(self, mail_server: MailServer) -> None:
        notice = a_notice("Ein Stück für Zoë", "Größe: 2 ☂\n.\n..end\n")
        notifier(mail_server).send(notice)
        (got,) = mail_server.received
        assert got.to == BUYER
        assert got.text == notice.text
        assert got.mail["Subject"] == notice.subject
        assert got.mail["From"] == "tickets@shop.example"
        assert got.mail["To"] == BUYER
        assert got.mail["Auto-Submitted"] == "auto-generated"
        assert got.mail["Date"] is not None

    def test_every_attempt_has_the_same_message_id(self, mail_server: MailServer) -> None:
        notice = a_notice()
        notifier(mail_server).send(notice)
        notifier(mail_server).send(notice)
        ids = {got.mail["Message-ID"] for got in mail_server.received}
        assert ids == {f"<{notice.id}@shop.example>"}

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\u2028"])
    def test_line_breaks_in_subjects_add_no_header(self, mail_server: MailServer, end: str) -> None:
        notifier(mail_server).send(a_notice(f"Concert{end}Bcc: everybody@example.com{end}{end}Hi"))
        (got,) = mail_server.received
        assert got.mail["Bcc"] is None
        assert got.mail["Subject"] == "Concert Bcc: everybody@example.com Hi"
        assert got.text == "Thank you.\n"


class TestTrouble:
    def test_an_unreachable_server_raises_notice_failed(self, mail_server: MailServer) -> None:
        mail_server.stop()
        with pytest.raises(NoticeFailed):
            notifier(mail_server).send(a_notice())

    def test_a_silent_server_times_out(
        self, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(smtp, "ANSWER_SECONDS_MAX", 0.2)
        mail_server.greeting = None
        with pytest.raises(NoticeFailed):
            notifier(mail_server).send(a_notice())

    @pytest.mark.parametrize("greeting", [b"421 too busy", b"554 no service", b"hello"])
    def test_a_bad_greeting_is_a_failure(self, mail_server: MailServer, greeting: bytes) -> None:
        mail_server.greeting = greeting
        with pytest.raises(NoticeFailed):
            notifier(mail_server).send(a_notice())

    @pytest.mark.parametrize(
        ("code", "error"), [(550, NoticeRefused), (450, NoticeDeferred), (421, NoticeDeferred)]
    )
    @pytest.mark.parametrize("when", ["RCPT", "DATA"])
    def test_refusal_codes_are_permanent_or_temporary(
        self, mail_server: MailServer, when: str, code: int, error: type[Exception]
    ) -> None:
        refusals = mail_server.refusals if when == "RCPT" else mail_server.data_refusals
        refusals[BUYER] = code
        with pytest.raises(error) as refused:
            notifier(mail_server).send(a_notice())
        assert str(refused.value) == f"the mail server answered {code}"

    def test_a_mail_that_is_too_large_is_refused(self, mail_server: MailServer) -> None:
        mail_server.size_max = 1_000
        with pytest.raises(NoticeRefused, match="the mail server answered 552"):
            notifier(mail_server).send(a_notice(text="long " * 1_000))
        notifier(mail_server).send(a_notice())
        assert len(mail_server.received) == 1

    @pytest.mark.parametrize("last_words", [b"421 too late", None])
    def test_a_failed_quit_does_not_fail_an_accepted_mail(
        self, mail_server: MailServer, last_words: bytes | None
    ) -> None:
        mail_server.answer_to_quit = last_words
        notifier(mail_server).send(a_notice())
        assert len(mail_server.received) == 1


class TestEncryption:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        """A self-signed certificate for localhost."""
        file = tmp_path / "server.pem"
        command = (
            f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {file} -out {file}.crt"
        )
        name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run([*command.split(), *name], check=True, capture_output=True)
        file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
        return file

    @pytest.fixture
    def encrypting(self, certificate: Path) -> Iterator[MailServer]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with MailServer(tls=context) as server:
            yield server

    def test_a_trusted_server_gets_the_password(
        self, encrypting: MailServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        notifier(encrypting, login="shop%40example.com:p%40ss@", host="localhost").send(a_notice())
        (got,) = encrypting.received
        assert (got.user, got.is_encrypted) == ("shop@example.com", True)

    def test_an_untrusted_server_gets_nothing(self, encrypting: MailServer) -> None:
        with pytest.raises(NoticeFailed):
            notifier(encrypting, login="shop:pass@", host="localhost").send(a_notice())
        assert encrypting.received == []

    def test_the_password_is_never_sent_in_the_clear(self, mail_server: MailServer) -> None:
        with pytest.raises(NoticeFailed):
            notifier(mail_server, login="shop:pass@").send(a_notice())
        assert mail_server.received == []


def test_the_console_notifier_masks_addresses() -> None:
    stream = io.StringIO()
    ConsoleNotifier(stream).send(a_notice("Your tickets for Concert", "Code: ABC\n"))
    assert "Your tickets for Concert" in stream.getvalue()
    assert "Code: ABC" in stream.getvalue()
    assert "b***@example.com" in stream.getvalue()
    assert BUYER not in stream.getvalue()
