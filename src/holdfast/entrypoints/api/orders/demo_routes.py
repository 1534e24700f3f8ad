"""Routes that are served only with the demo payment provider."""

from typing import Any

from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.orders.answers import DemoPaymentAnswer
from holdfast.entrypoints.api.orders.handlers import pay_at_demo_till
from holdfast.entrypoints.api.orders.structs import DemoPaymentRequest
from holdfast.ports.access import Scope

DEMO_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/demo/payments",
        scope=Scope.HOLDS_WRITE,
        summary="Make a demo payment",
        returns="The payment.",
        handler=pay_at_demo_till,
        body=DemoPaymentRequest,
        answer=DemoPaymentAnswer,
        status=201,
        refusals=(RefusalCode.PAYMENT_REFUSED,),
    ),
)
