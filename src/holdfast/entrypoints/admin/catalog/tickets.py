"""The forms that create and change ticket types, pools and blocks."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse

from holdfast.adapters.postgres.models import (
    Block,
    BlockPrice,
    Event,
    Pool,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.domain.catalog import model as catalog
from holdfast.domain.ids import BlockId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import POLICY_FIELDS, UNCHANGED
from holdfast.entrypoints.admin.catalog.fields import (
    CheckboxInput,
    CheckboxSelectMultiple,
    PriceField,
    count_field,
    text_field,
)
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
)
from holdfast.entrypoints.admin.catalog.offers import Offer
from holdfast.entrypoints.admin.catalog.policies import (
    add_policy_fields,
    change_policy,
    effective_policy,
    levels_of,
    policy_given,
)

CHOICES_MAX = 200
POOLS_PER_TYPE_MAX = 20
RANK_MAX = 1_000_000


def pools_of(session: Session) -> list[Pool]:
    """Without those that count the capacity of a block."""
    own = {"organization_id": session.organization_id, "session_id": session.id}
    of_blocks = Block.objects.filter(**own, capacity_pool_id__isnull=False)
    pools = Pool.objects.filter(**own).exclude(id__in=of_blocks.values("capacity_pool_id"))
    return list(pools.order_by("created_at", "id")[:CHOICES_MAX])


def seated_types_of(session: Session) -> list[TicketType]:
    own = {"organization_id": session.organization_id, "session_id": session.id}
    types = TicketType.objects.filter(**own, is_seated=True)
    return list(types.order_by("created_at", "id")[:CHOICES_MAX])


class TicketTypeForm(CatalogForm):
    creates = True

    def __init__(
        self, request: HttpRequest, row: TicketType | None, session: Session, **initial: Any
    ) -> None:
        super().__init__(request, row, initial=initial)
        self._is_seated = row is not None and row.is_seated
        self.fields["name"] = text_field("Name", 'Such as "Adult" or "Student".')
        self.fields["price"] = PriceField(session.event.currency)
        pools = [(str(pool.id), f"{pool.name} ({pool.total})") for pool in pools_of(session)]
        if row is None:
            self.fields["is_seated"] = forms.BooleanField(
                label="Seated",
                required=False,
                widget=CheckboxInput(),
                help_text="Each ticket is a seat. Add the seats afterwards.",
            )
            self.fields["capacity"] = count_field(
                "Tickets of its own",
                "Creates a pool of this size with the name of the ticket type. Empty: it draws "
                "only from the pools below, or, if seated, from the seats.",
                required=False,
            )
        if pools:
            self.fields["pools"] = forms.MultipleChoiceField(
                label="Draws from",
                choices=pools,
                required=False,
                widget=CheckboxSelectMultiple(),
                help_text="Each ticket takes one place of every pool that you choose.",
            )

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        is_seated = given.get("is_seated", self._is_seated)
        chosen = given.get("pools") or []
        if len(chosen) > POOLS_PER_TYPE_MAX:
            self.add_error("pools", f"Choose at most {POOLS_PER_TYPE_MAX} pools.")
        is_limited = is_seated or given.get("capacity") is not None or chosen
        if not is_limited and "capacity" not in self.errors and "pools" not in self.errors:
            field = "capacity" if "capacity" in self.fields else "pools"
            text = "A ticket type without seats needs tickets of its own or a pool to draw from."
            self.add_error(field if field in self.fields else None, text)
        return given

    def pool_ids(self) -> tuple[PoolId, ...]:
        return tuple(PoolId(UUID(text)) for text in self.cleaned_data.get("pools") or ())


class NewTicketTypeForm(TicketTypeForm):
    policy_names = tuple(POLICY_FIELDS)

    def __init__(self, request: HttpRequest, session: Session) -> None:
        super().__init__(request, None, session)
        add_policy_fields(self, effective_policy(levels_of(session.event)))


def new_ticket_type(request: HttpRequest, session: Session) -> HttpResponse:
    form = NewTicketTypeForm(request, session)
    if form.is_valid():
        given = form.cleaned_data
        editor = editor_of(request, form, session, "Ticket type created in the admin")
        answer = editor.create_ticket_type(
            session_id=SessionId(session.id),
            name=given["name"],
            price_minor=given["price"],
            pool_ids=form.pool_ids(),
            capacity=given["capacity"],
            policy=policy_given(form),
            is_seated=given["is_seated"],
        )
        if form.take(answer) is not None:
            return done(request, f"{given['name']} is created.", page_of(session))
    return show(
        request,
        form,
        title=f"New ticket type of {session.name}",
        consequence=_when(session.event, "Adds a kind of ticket with its price."),
        button="Create ticket type",
        back=page_of(session),
    )


def edit_ticket_type(request: HttpRequest, row: TicketType) -> HttpResponse:
    own = {"organization_id": row.organization_id, "ticket_type_id": row.id}
    drawn = TicketTypePool.objects.filter(**own).values_list("pool_id", flat=True)
    pools = [str(pool_id) for pool_id in drawn]
    form = TicketTypeForm(
        request, row, row.session, name=row.name, price=row.price_minor, pools=pools
    )
    if form.is_valid():
        editor = editor_of(request, form, row, "Ticket type edited in the admin")
        answer = editor.change_ticket_type(
            ticket_type_id=TicketTypeId(row.id),
            name=form.changed("name"),
            price_minor=form.changed("price"),
            pool_ids=form.pool_ids() if "pools" in form.changed_data else None,
            policy=None,
        )
        if form.take(answer) is not None:
            return done(request, "The ticket type is saved.", page_of(row))
    return show(
        request,
        form,
        title=f"Edit {row.name}",
        consequence="A new price applies to new holds. Existing holds and orders keep theirs. "
        "Blocks can have prices of their own.",
        button="Save ticket type",
        back=page_of(row),
    )


class PoolForm(CatalogForm):
    creates = True

    def __init__(self, request: HttpRequest, row: Pool | None) -> None:
        initial = {} if row is None else {"name": row.name, "total": row.total}
        super().__init__(request, row, initial=initial)
        self.fields["name"] = text_field("Name", 'Such as "Floor" or "Venue".')
        self.fields["total"] = count_field("Total", "How many places there are.")


def new_pool(request: HttpRequest, session: Session) -> HttpResponse:
    form = PoolForm(request, None)
    if form.is_valid():
        given = form.cleaned_data
        editor = editor_of(request, form, session, "Pool created in the admin")
        answer = editor.create_pool(SessionId(session.id), given["name"], given["total"])
        if form.take(answer) is not None:
            text = f"{given['name']} is created. Choose it in a ticket type to sell from it."
            return done(request, text, page_of(session))
    return show(
        request,
        form,
        title=f"New pool of {session.name}",
        consequence="Adds places that ticket types without seats draw from. Several ticket types "
        "can share them.",
        button="Create pool",
        back=page_of(session),
    )


def edit_pool(request: HttpRequest, pool: Pool) -> HttpResponse:
    form = PoolForm(request, pool)
    if form.is_valid():
        editor = editor_of(request, form, pool, "Pool edited in the admin")
        answer = editor.change_pool(PoolId(pool.id), form.changed("name"), form.changed("total"))
        if form.take(answer) is not None:
            return done(request, "The pool is saved.", page_of(pool))
    return show(
        request,
        form,
        title=f"Edit {pool.name}",
        consequence=f"{pool.held} of its {pool.total} places are held and {pool.sold} are sold. "
        "The total cannot be lower than that. New places go to the waitlist first.",
        button="Save pool",
        back=page_of(pool),
    )


class BlockForm(CatalogForm):
    """`price_<id>` is the price of a seated ticket type in the block; empty, it is not sold
    there."""

    creates = True

    def __init__(
        self, request: HttpRequest, row: Block | None, session: Session, **initial: Any
    ) -> None:
        super().__init__(request, row, initial=initial)
        self.fields["name"] = text_field("Name", 'Such as "Stalls" or "Balcony".')
        self.fields["rank"] = count_field(
            "Rank",
            "Best seats are searched from the lowest rank to the highest. Empty: after the others.",
            most=RANK_MAX,
            required=row is not None,
        )
        self.fields["total"] = count_field(
            "Capacity",
            "At most this many seats are held and sold, such as half of them. Empty: all.",
            required=False,
        )
        self._types = seated_types_of(session)
        for each in self._types:
            price = PriceField(
                session.event.currency, label=f"Price of {each.name}", required=False
            )
            price.help_text = (
                f"Its own price is {price.shown(each.price_minor)}. Empty: not sold in this block, "
                "if another ticket type has a price here."
            )
            self.fields[f"price_{each.id}"] = price

    def prices(self) -> tuple[catalog.BlockPrice, ...]:
        """In their present order: the first one is the default of the seats."""
        order = list(self.initial)
        names = {f"price_{each.id}": each for each in self._types}
        ranked = sorted(names, key=lambda name: order.index(name) if name in order else len(order))
        named = [(names[name], self.cleaned_data[name]) for name in ranked]
        return tuple(
            catalog.BlockPrice(TicketTypeId(each.id), price)
            for each, price in named
            if price is not None
        )


def new_block(request: HttpRequest, session: Session) -> HttpResponse:
    form = BlockForm(request, None, session)
    if form.is_valid():
        given = form.cleaned_data
        editor = editor_of(request, form, session, "Block created in the admin")
        answer = editor.create_block(
            session_id=SessionId(session.id),
            name=given["name"],
            rank=given["rank"],
            capacity=given["total"],
            prices=form.prices(),
        )
        if form.take(answer) is not None:
            text = (
                f"{given['name']} is created without seats. Add them with the designer or a file."
            )
            return done(request, text, page_of(session))
    return show(
        request,
        form,
        title=f"New block of {session.name}",
        consequence="Adds an area for seats. The designer and the seat file create missing blocks "
        "by themselves.",
        button="Create block",
        back=page_of(session),
    )


def edit_block(request: HttpRequest, block: Block) -> HttpResponse:
    pool = block.capacity_pool
    own = {"organization_id": block.organization_id, "block_id": block.id}
    rows = BlockPrice.objects.filter(**own).order_by("rank")
    prices = {f"price_{row.ticket_type_id}": row.price_minor for row in rows}
    initial = {"name": block.name, "rank": block.rank, "total": pool and pool.total, **prices}
    form = BlockForm(request, block, block.session, **initial)
    if form.is_valid():
        editor = editor_of(request, form, block, "Block edited in the admin")
        is_priced = any(name.startswith("price_") for name in form.changed_data)
        answer = editor.change_block(
            block_id=BlockId(block.id),
            name=form.changed("name"),
            rank=form.changed("rank"),
            capacity=form.cleaned_data["total"] if "total" in form.changed_data else UNCHANGED,
            prices=form.prices() if is_priced else None,
        )
        if form.take(answer) is not None:
            return done(request, "The block is saved.", page_of(block))
    return show(
        request,
        form,
        title=f"Edit {block.name}",
        consequence="New prices apply to new holds. Existing holds and orders keep theirs.",
        button="Save block",
        back=page_of(block),
    )


def _when(event: Event, text: str) -> str:
    is_on_sale = catalog.EventStatus(event.status).is_on_sale
    return f"{text} It is on sale at once." if is_on_sale else text


OFFERS_OF_SESSION = (
    Offer("tickettype", "New ticket type", new_ticket_type),
    Offer("pool", "New pool", new_pool),
    Offer("block", "New block", new_block),
)
OFFERS_OF_TICKET_TYPE = (
    Offer("edit", "Edit", edit_ticket_type),
    Offer("policy", "Hold policy", change_policy),
)
OFFERS_OF_POOL = (Offer("edit", "Edit", edit_pool),)
OFFERS_OF_BLOCK = (Offer("edit", "Edit prices and capacity", edit_block),)
