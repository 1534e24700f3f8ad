"""The tests of carts, with the Django project in front."""

from tests.drf.shared import taken_from
from tests.e2e.carts import test_carts

globals().update(taken_from(test_carts))
