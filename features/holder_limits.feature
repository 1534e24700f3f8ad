Feature: Limits per holder
  A policy can limit what one customer may have in an event, so that a bot cannot hold the whole
  venue. The limits count all sessions of the event. Every limit is off unless the policy sets it.

  Scenario: At most four tickets per customer, held or bought
    Given a sale with "holder_units_max" 4
    When "fan@example.com" holds 3 tickets
    And "fan@example.com" holds 2 tickets
    Then the request fails with "holder_limit_reached"
    And the response says that the limit is 4 and the customer has 3
    When the order is confirmed
    And "fan@example.com" holds 2 tickets
    Then the request fails with "holder_limit_reached"
    When "fan@example.com" holds 1 ticket
    Then the request succeeds
    When "friend@example.com" holds 4 tickets
    Then the request succeeds

  Scenario: Two sessions of one event share the limit
    Given a sale with "holder_units_max" 4
    And a second session of the same event
    When "fan@example.com" holds 3 tickets
    And "fan@example.com" holds 2 tickets of the second session
    Then the request fails with "holder_limit_reached"

  Scenario: At most two live holds per customer
    Given a sale with "holder_holds_max" 2
    When "fan@example.com" holds 1 ticket
    And "fan@example.com" holds 1 ticket
    And "fan@example.com" holds 1 ticket
    Then the request fails with "holder_limit_reached"
    And the response says when to try again
    When the hold is released
    And "fan@example.com" holds 1 ticket
    Then the request succeeds

  Scenario: At most one cart per customer
    Given a sale with "holder_carts_max" 1
    When "fan@example.com" puts 1 ticket into the cart "tab-1"
    And "fan@example.com" puts 1 ticket into the cart "tab-2"
    Then the request fails with "holder_limit_reached"
    When "fan@example.com" puts 2 tickets into the cart "tab-1"
    Then the request succeeds

  Scenario: At most one extension per hold
    Given a sale with "extensions_max" 1
    When "fan@example.com" holds 1 ticket
    And the customer extends the hold by 1 minute
    Then the request succeeds
    When the customer extends the hold by 1 minute
    Then the request fails with "extension_limit_reached"

  Scenario: A customer who gave up a hold has to wait before the next one
    Given a sale with "cooldown_seconds" 300
    When "fan@example.com" holds 1 ticket
    And the hold is released
    And "fan@example.com" holds 1 ticket
    Then the request fails with "holder_cooldown"
    And the response says when to try again
    When 6 minutes pass
    And "fan@example.com" holds 1 ticket
    Then the request succeeds

  Scenario: Tickets on the waitlist count
    Given a sale of 4 tickets with a waitlist and "holder_units_max" 4
    When "friend@example.com" holds 4 tickets
    And "fan@example.com" asks to wait for 3 tickets
    And "fan@example.com" holds 2 tickets
    Then the request fails with "holder_limit_reached"
