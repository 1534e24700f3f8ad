"""The tests of holds over HTTP, with the Django project in front."""

from tests.drf.shared import taken_from
from tests.e2e.holds import test_extension, test_holds

globals().update(
    taken_from(
        test_holds,
        without={
            "test_a_request_id_is_echoed_or_generated",
            # About the engine and slow: the Django project adds nothing to them.
            "test_a_hold_expires_by_itself_on_time",
            "test_ticket_types_share_their_pools",
            "test_every_combination_of_filters_finds_its_holds",
        },
    )
)
globals().update(
    taken_from(
        test_extension,
        without={
            "test_a_ttl_above_the_maximum_lifetime_is_refused",
            "test_a_maximum_lifetime_below_the_ttl_is_raised_to_it",
        },
    )
)
