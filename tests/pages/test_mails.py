"""The texts of an organization's mails, and sending a mail again, in the admin."""

from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from django.http import HttpResponse
from django.test import Client

from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.resend import RESENDS_MAX
from holdfast.domain.mails.templates import BODY_LENGTH_MAX
from tests.pages.sales import EMAIL, Sale, page
from tests.pages.staff import browser_of, hire

KINDS = tuple(MailKind)


def text_of(response: HttpResponse) -> str:
    return response.content.decode()


class Desk:
    """The pages about mails of one organization, in one browser."""

    def __init__(self, browser: Client, organization_id: object) -> None:
        self.browser = browser
        self.path = f"/admin/holdfast/organization/{organization_id}/mails/"

    def get(self, below: str = "") -> HttpResponse:
        return cast("HttpResponse", self.browser.get(f"{self.path}{below}"))

    def post(self, below: str, **entered: Any) -> HttpResponse:
        return cast("HttpResponse", self.browser.post(f"{self.path}{below}", entered))

    def save(self, kind: str = "warning", **entered: Any) -> HttpResponse:
        given = {"subject": "Hi", "body": "{{ event }}", "reason": "House style", "version": 0}
        return self.post(f"{kind}/", **(given | entered))

    def preview(self, **entered: Any) -> str:
        return text_of(self.save(**{"preview": "1", "reason": ""} | entered))


@pytest.fixture
def desk(operator: Client, sale: Sale) -> Desk:
    return Desk(operator, sale.organization_id)


def stored(sale: Sale) -> list[Any]:
    query = "SELECT kind, subject, body, version FROM mail_template WHERE organization_id = %s"
    return sale.owner.execute(query, [sale.organization_id]).fetchall()


def audited(sale: Sale) -> list[Any]:
    query = (
        "SELECT action, actor, old, new FROM audit"
        " WHERE organization_id = %s AND action LIKE 'mail_template.%%' ORDER BY seq"
    )
    return sale.owner.execute(query, [sale.organization_id]).fetchall()


def test_every_kind_is_listed_with_its_text(desk: Desk, sale: Sale, operator: Client) -> None:
    assert "E-mail texts" in page(operator, f"organization/{sale.organization_id}/change/")
    listed = text_of(desk.get())
    for design in MAILS.values():
        assert design.label in listed
    assert listed.count("Built-in text") == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_each_editor_shows_the_text_its_preview_and_placeholders(
    desk: Desk, kind: MailKind
) -> None:
    shown = text_of(desk.get(f"{kind.value}/"))
    assert "This is the built-in text." in shown
    assert "HF-7K2M" in shown
    assert all(f"{{{{ {name} }}}}" in shown for name in MAILS[kind].placeholders)


def test_a_text_is_saved_previewed_and_reset(desk: Desk, sale: Sale) -> None:
    assert desk.save(subject="Hurry: {{ event }}", body="At {{ venue }}.\r\n").status_code == 302
    assert stored(sale) == [("warning", "Hurry: {{ event }}", "At {{ venue }}.", 1)]
    shown = text_of(desk.get("warning/"))
    assert "<strong>Hurry: Winter Gala</strong>" in shown
    assert "At Harbour Hall, 1 Harbour Street.\n" in shown
    assert "Your text, changed" in text_of(desk.get())
    reset = text_of(desk.get("warning/reset/"))
    assert "Deletes your text. Buyers get the built-in text from now on." in reset
    assert desk.post("warning/reset/", reason="", version=1).status_code == 200
    assert len(stored(sale)) == 1
    assert desk.post("warning/reset/", reason="Wrong", version=1).status_code == 302
    assert stored(sale) == []
    assert "This is the built-in text." in text_of(desk.get("warning/"))
    (changed, deleted) = audited(sale)
    assert changed[:3] == ("mail_template.changed", "operator:head-of-desk", None)
    assert changed[3]["reason"] == "House style"
    assert changed[3]["mail"] == "warning"
    assert deleted[0] == "mail_template.reset"
    assert deleted[2]["subject"] == "Hurry: {{ event }}"
    assert deleted[3] == {"mail": "warning", "reason": "Wrong"}


def test_a_preview_saves_nothing_and_needs_no_reason(desk: Desk, sale: Sale) -> None:
    shown = desk.preview(subject="{{ tickets }}", body="By {{ pay_by }}")
    assert "<strong>2 tickets</strong>" in shown
    assert "By Friday, 20 November 2026, 19:09:59 CET" in shown
    assert "This field is required" not in shown
    assert (stored(sale), audited(sale)) == ([], [])


def test_a_preview_has_the_organizations_name_and_footer(desk: Desk, sale: Sale) -> None:
    sale.owner.execute(
        "UPDATE organization SET mail_name = 'Desk & Co', mail_footer = 'Harbour Street'"
        " WHERE id = %s",
        [sale.organization_id],
    )
    shown = desk.preview(subject="{{ organization }}")
    assert "<strong>Desk &amp; Co</strong>" in shown
    assert "-- \nHarbour Street\n" in shown


def test_html_is_shown_as_text(desk: Desk) -> None:
    script = "<script>alert(1)</script>"
    shown = desk.preview(subject=script, body=script)
    assert script not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


@pytest.mark.parametrize(
    "text",
    ["{{ settings.SECRET_KEY }}", "{{ request }}", "{{ HOLDFAST_SECRET_KEY }}", "{{ event|safe }}"],
)
def test_a_template_reads_nothing_but_its_placeholders(desk: Desk, sale: Sale, text: str) -> None:
    for answer in (desk.preview(body=text), text_of(desk.save(body=text))):
        assert "Use one of: {{ organization }}, {{ event }}" in answer
        assert "Correct the text to see a preview." in answer
    assert stored(sale) == []


def test_template_tags_are_not_run(desk: Desk) -> None:
    """Control: Django itself would run this one."""
    assert "{% now &quot;Y&quot; %}" in desk.preview(body='{% now "Y" %}')


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"subject": ""}, "This field is required"),
        ({"body": ""}, "This field is required"),
        ({"reason": ""}, "This field is required"),
        ({"subject": "x" * 201}, "at most 200 characters"),
        ({"body": "x" * (BODY_LENGTH_MAX + 1)}, "Must be 1 to 5000 characters"),
        ({"body": "{{ seat }}"}, "{{ seat }} is not a placeholder here"),
        ({"subject": "{{ seats }}"}, "{{ seats }} is not a placeholder here"),
    ],
)
def test_wrong_input_changes_nothing(
    desk: Desk, sale: Sale, entered: dict[str, str], problem: str
) -> None:
    answer = desk.save(**entered)
    assert answer.status_code == 200
    assert problem in text_of(answer)
    assert (stored(sale), audited(sale)) == ([], [])


def test_a_body_of_the_greatest_length_is_saved(desk: Desk, sale: Sale) -> None:
    """Browsers send each line break as two characters."""
    body = "x\r\n" * (BODY_LENGTH_MAX // 2 - 1) + "xx"
    assert desk.save(body=body).status_code == 302
    ((_, _, saved, _),) = stored(sale)
    assert len(saved) == BODY_LENGTH_MAX


def test_a_confirmation_without_codes_is_refused(desk: Desk, sale: Sale) -> None:
    answer = text_of(desk.save("confirmation", body="Thank you"))
    assert "The body must contain {{ ticket_list }}" in answer
    assert stored(sale) == []


def test_the_second_of_two_editors_is_told(desk: Desk, sale: Sale) -> None:
    assert desk.save(body="first").status_code == 302
    answer = desk.save(body="second")
    assert answer.status_code == 200
    assert "Somebody else has changed this text meanwhile" in text_of(answer)
    assert [body for _, _, body, _ in stored(sale)] == ["first"]
    assert desk.save(body="second", version=1).status_code == 302
    stale = desk.post("warning/reset/", reason="r", version=1)
    assert "Somebody else has changed this text meanwhile" in text_of(stale)
    assert [body for _, _, body, _ in stored(sale)] == ["second"]


@pytest.mark.parametrize("role", ["viewer", "support", "manager"])
def test_only_owners_change_texts(database_url: str, sale: Sale, role: str) -> None:
    browser = browser_of(hire(database_url, sale, role))
    desk = Desk(browser, sale.organization_id)
    assert desk.get().status_code == 403
    assert desk.get("warning/").status_code == 403
    assert desk.save().status_code == 403
    assert desk.post("warning/reset/", reason="r").status_code == 403
    assert stored(sale) == []
    assert "E-mail texts" not in page(browser, f"organization/{sale.organization_id}/change/")


def test_owners_change_the_texts_of_their_own_organization_only(
    database_url: str, sale: Sale
) -> None:
    browser = browser_of(hire(database_url, sale, "owner"))
    assert Desk(browser, sale.organization_id).save().status_code == 302
    assert Desk(browser, uuid4()).get().status_code == 404
    assert Desk(browser, sale.organization_id).get("nonsense/").status_code == 404


class TestResend:
    def path(self, sale: Sale, hold_id: UUID) -> str:
        return f"/admin/holdfast/organization/{sale.organization_id}/holds/{hold_id}/resend-mail/"

    def requests(self, sale: Sale) -> list[Any]:
        query = (
            "SELECT payload FROM outbox WHERE organization_id = %s AND type = 'notice.requested'"
        )
        found = sale.owner.execute(query, [sale.organization_id]).fetchall()
        return [payload for (payload,) in found]

    def test_the_page_says_which_mail_goes_to_whom(self, operator: Client, sale: Sale) -> None:
        hold_id = sale.place(status="converted")
        shown = page(operator, f"hold/{hold_id}/change/")
        assert f'href="{self.path(sale, hold_id)}"' in shown
        asked = text_of(cast("HttpResponse", operator.get(self.path(sale, hold_id))))
        assert "Order confirmed" in asked
        assert "b***@example.com" in asked
        assert EMAIL not in asked

    def test_a_mail_is_requested_with_a_reason(self, operator: Client, sale: Sale) -> None:
        hold_id = sale.place(status="converted")
        without = operator.post(self.path(sale, hold_id), {"mail": "confirmation", "reason": ""})
        assert "This field is required" in without.content.decode()
        assert self.requests(sale) == []
        entered = {"mail": "confirmation", "reason": "Lost it"}
        answer = operator.post(self.path(sale, hold_id), entered, follow=True)
        assert (
            "will be sent to b***@example.com, if e-mails are turned on." in answer.content.decode()
        )
        ((payload),) = self.requests(sale)
        assert (payload["mail"], payload["hold_id"]) == ("confirmation", str(hold_id))
        query = "SELECT actor, new FROM audit WHERE action = 'notice.requested' AND hold_id = %s"
        ((actor, new),) = sale.owner.execute(query, [hold_id]).fetchall()
        assert (actor, new) == (
            "operator:head-of-desk",
            {"mail": "confirmation", "reason": "Lost it"},
        )

    def test_a_form_that_is_sent_twice_requests_one_mail(
        self, operator: Client, sale: Sale
    ) -> None:
        hold_id = sale.place(status="converted")
        path = self.path(sale, hold_id)

        def form_id() -> str:
            page = operator.get(path).content.decode()
            return page.partition('name="form_id" value="')[2].partition('"')[0]

        first, second = form_id(), form_id()
        for sent in (first, first, second):
            entered = {"mail": "confirmation", "reason": "Lost it", "form_id": sent}
            assert operator.post(path, entered).status_code == 302
        assert len(self.requests(sale)) == 2
        query = "SELECT count(*) FROM audit WHERE action = 'notice.requested' AND hold_id = %s"
        assert sale.owner.execute(query, [hold_id]).fetchall() == [(2,)]

    def test_the_order_offers_it_too(self, operator: Client, sale: Sale) -> None:
        hold_id = sale.place(status="converted")
        order_id = sale.pay(hold_id)
        path = f"{self.path(sale, hold_id)}?order={order_id}"
        assert path in page(operator, f"order/{order_id}/change/")
        entered = {"mail": "confirmation", "reason": "Lost it"}
        answer = operator.post(path, entered)
        assert answer["Location"].startswith(f"/admin/holdfast/order/{order_id}/change/")

    def test_a_hold_that_has_changed_meanwhile_is_shown_again(
        self, operator: Client, sale: Sale
    ) -> None:
        hold_id = sale.place(status="converted")
        entered = {"mail": "warning", "reason": "Reminder"}
        answer = operator.post(self.path(sale, hold_id), entered).content.decode()
        assert "Somebody else has changed this hold meanwhile" in answer
        assert 'value="confirmation"' in answer
        assert self.requests(sale) == []

    def test_a_buyer_is_not_flooded(self, operator: Client, sale: Sale) -> None:
        hold_id = sale.place(status="converted")
        entered = {"mail": "confirmation", "reason": "Again"}
        for _ in range(RESENDS_MAX):
            assert operator.post(self.path(sale, hold_id), entered).status_code == 302
        answer = operator.post(self.path(sale, hold_id), entered)
        assert (
            "3 e-mails about this hold were sent again in the last hour" in answer.content.decode()
        )
        assert len(self.requests(sale)) == RESENDS_MAX

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"email": None, "user_id": "u-1"}, "no e-mail address"),
            ({"status": "cancelled"}, "cancelled"),
        ],
    )
    def test_a_hold_without_a_mail_says_why(
        self, operator: Client, sale: Sale, values: dict[str, Any], words: str
    ) -> None:
        hold_id = sale.place(**values)
        answer = operator.get(self.path(sale, hold_id), follow=True)
        assert words in answer.content.decode()

    def test_support_may_and_viewers_may_not(self, database_url: str, sale: Sale) -> None:
        hold_id = sale.place(status="converted")
        viewer = browser_of(hire(database_url, sale, "viewer"))
        entered = {"mail": "confirmation", "reason": "Lost it"}
        assert "Resend e-mail" not in page(viewer, f"hold/{hold_id}/change/")
        assert viewer.get(self.path(sale, hold_id)).status_code == 403
        assert viewer.post(self.path(sale, hold_id), entered).status_code == 403
        assert self.requests(sale) == []
        support = browser_of(hire(database_url, sale, "support"))
        assert "Resend e-mail" in page(support, f"hold/{hold_id}/change/")
        assert support.post(self.path(sale, hold_id), entered).status_code == 302

    def test_an_unknown_hold_is_not_found(self, operator: Client, sale: Sale) -> None:
        assert operator.get(self.path(sale, uuid4())).status_code == 404
