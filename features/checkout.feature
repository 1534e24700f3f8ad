Feature: Checkout
  Starting a checkout extends every hold once: none expires during the payment.

  Scenario: The 14:59 race
    Given a hold of 15 minutes, 14 minutes and 50 seconds old
    When the customer starts the checkout
    Then the hold expires 5 minutes later than before
    And the hold lasts 20 minutes in total
    When 1 minute passes
    And the payment completes
    Then an order is created from all holds of the checkout
    And the hold status is "converted"

  Scenario: Without checkout the places go to the next customer
    Given a hold of 15 minutes, 14 minutes and 50 seconds old
    When 1 minute passes
    And the customer starts the checkout
    Then the request fails with "expired_before_checkout"
    And the error names the lapsed hold

  Scenario: A second click on checkout
    Given an active hold for customer "user@example.com"
    When the customer starts the checkout
    And the customer starts the checkout
    Then it is the same checkout
    And the hold lasts 15 minutes in total

  Scenario: Everything that a customer holds for an event
    Given customer "user@example.com" holds 2 tickets twice
    When "user@example.com" checks out everything held for the event
    Then the checkout has 2 holds with 4 tickets
    When the payment completes
    Then an order is created from all holds of the checkout
    And the order has 4 tickets with 4 different codes

  Scenario: Nobody pays for less than they chose
    Given customer "user@example.com" has two holds, and the first has lapsed
    When "user@example.com" checks out everything held for the event
    Then the request fails with "expired_before_checkout"
    And the error names the lapsed hold

  Scenario: No checkout for a cancelled event
    Given an active hold for customer "user@example.com"
    When the event is cancelled
    And the customer starts the checkout
    Then the request fails with "event_unavailable"
    And the hold lasts 10 minutes in total

  Scenario: Nothing is held
    Given session "concert-123" has available tickets
    When "user@example.com" checks out everything held for the event
    Then the request fails with "empty_cart"

  Scenario: Paying twice
    Given an active hold for customer "user@example.com"
    When the customer starts the checkout
    And the payment completes
    And the payment completes
    Then it is the same order
    When another payment completes
    Then the request fails with "already_paid"
    And the audit of the hold shows the second payment
