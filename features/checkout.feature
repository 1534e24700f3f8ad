Feature: Checkout
  Who goes to pay gets the time to do so: every hold is extended, once, so that none ends while the
  payment is under way.

  Scenario: The 14:59 race
    Given a hold of 15 minutes, 14 minutes and 50 seconds old
    When the customer goes to checkout
    Then the hold expires 5 minutes later than before
    And the hold lasts 20 minutes in all
    When 1 minute passes
    And the payment completes
    Then an order is made of all holds of the checkout
    And the hold status is "converted"

  Scenario: Without checkout the places go to the next customer
    Given a hold of 15 minutes, 14 minutes and 50 seconds old
    When 1 minute passes
    And the customer goes to checkout
    Then the request fails with "expired_before_checkout"
    And the lapsed hold is named

  Scenario: A second click on checkout
    Given an active hold for customer "user@example.com"
    When the customer goes to checkout
    And the customer goes to checkout
    Then it is the same checkout
    And the hold lasts 15 minutes in all

  Scenario: Everything that a customer holds of an event
    Given customer "user@example.com" holds 2 tickets twice
    When "user@example.com" goes to checkout with all of the event
    Then the checkout has 2 holds and 4 tickets to pay
    When the payment completes
    Then an order is made of all holds of the checkout
    And the order has 4 tickets with 4 different codes

  Scenario: Nobody pays for less than they chose
    Given customer "user@example.com" has two holds, and the first has lapsed
    When "user@example.com" goes to checkout with all of the event
    Then the request fails with "expired_before_checkout"
    And the lapsed hold is named

  Scenario: A cancelled event sends nobody to pay
    Given an active hold for customer "user@example.com"
    When the event is cancelled
    And the customer goes to checkout
    Then the request fails with "event_unavailable"
    And the hold lasts 10 minutes in all

  Scenario: Nothing is held
    Given session "concert-123" has available tickets
    When "user@example.com" goes to checkout with all of the event
    Then the request fails with "empty_cart"

  Scenario: Paying twice
    Given an active hold for customer "user@example.com"
    When the customer goes to checkout
    And the payment completes
    And the payment completes
    Then it is the same order
    When another payment completes
    Then the request fails with "already_paid"
    And the audit of the hold tells of the second payment
