"""Examples of forgetting a person for the OpenAPI document."""

from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.privacy.routes import ForgetRequest, ForgottenAnswer

PRIVACY_ANSWERS: sale.Answers = (
    ForgottenAnswer(holds=3, orders=1, tickets=2, facts=3, audit_entries=7, is_complete=True),
)
PRIVACY_REQUESTS: sale.Requests = (("a buyer", ForgetRequest(customer_email=sale.EMAIL)),)
