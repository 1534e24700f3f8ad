Feature: Audit
  The audit log records who did what to which hold, seat or part of the catalog, from where, and who
  was refused and why: for compliance, troubleshooting and disputes. Nobody can edit it afterwards.

  Scenario: The life of a hold
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes
    And the order is confirmed
    Then the audit of the hold shows "hold.created, hold.extended, hold.converted"
    And every entry names the actor, the request and the address it came from
    And no entry contains "user@example.com"

  Scenario: A refused attempt
    Given an active hold for customer "user@example.com"
    When the hold is released
    And the order is confirmed
    Then the audit of the hold shows "hold.created, hold.cancelled, hold.convert_failed"

  Scenario: An operator's action
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes
    Then the audit of the hold shows "hold.created, hold.extended"
    And the last entry shows that an operator did it

  Scenario: The expiry worker's action
    Given an active hold that expired 1 minute ago
    When the expiry worker runs
    Then the audit of the hold shows "hold.created, hold.expired"
    And the last entry is not from the platform's key

  Scenario: The audit is immutable
    Given an active hold for customer "user@example.com"
    Then the audit cannot be changed, not even by the owner of the database

  Scenario: A price is raised
    Given session "concert-123" has available tickets
    When the organizer raises the price from 4500 to 4900
    Then the audit of the ticket type shows "ticket_type.created, ticket_type.changed"
    And its last entry shows only that the price was 4500 and is 4900

  Scenario: Why was Ann refused?
    Given only 1 ticket is available for session "concert-123"
    When "ann@example.com" asks for 3 tickets
    And "ann@example.com" asks for 0 tickets
    And "bob@example.com" asks for 5 tickets
    Then the audit of "ann@example.com" shows why:
      | action             | error                  | quantity | available_quantity |
      | hold.create_failed | invalid_quantity       |          |                    |
      | hold.create_failed | insufficient_inventory | 3        | 1                  |
    And no entry contains "ann@example.com"

  Scenario: Ann's own holds and refusals
    Given an active hold for customer "ann@example.com"
    When the hold is released
    And the order is confirmed
    Then the audit of "ann@example.com" lists "hold.created, hold.cancelled, hold.convert_failed"
    And the audit of "bob@example.com" lists nothing

  Scenario: A revoked key is used
    Given an active hold for customer "user@example.com"
    When the platform's other key is revoked and used
    Then the audit shows that the revoked key was refused

  Scenario: A renewed hold names its predecessor
    Given an expired hold in a cart
    When the cart is renewed
    Then the new hold and its audit name the expired hold
