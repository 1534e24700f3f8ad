"""The tests of checkouts and orders, with the Django project in front."""

from tests.drf.shared import taken_from
from tests.e2e.orders import test_checkout, test_orders

globals().update(taken_from(test_checkout, without={"test_policy_values_must_be_in_range"}))
globals().update(
    taken_from(
        test_orders,
        without={
            # About the engine and slow: the Django project adds nothing to them.
            "TestLatePayment",
            "test_a_page_of_orders_is_limited_by_its_tickets",
            "test_one_order_has_at_most_ten_thousand_tickets",
            "test_without_the_demo_provider_there_are_no_demo_payments",
        },
    )
)
