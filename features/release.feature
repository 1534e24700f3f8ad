Feature: Release
  A customer who changes their mind releases the tickets, and the next customer can have them at once.

  Scenario: Release a hold
    Given an active hold for customer "user@example.com"
    When the hold is released
    Then the hold status is "cancelled"
    And a hold.cancelled event is published
    And the inventory is available again

  Scenario: The next customer gets the tickets
    Given only 1 ticket is available for session "concert-123"
    When a customer requests a hold for 1 ticket
    And the hold is released
    And another customer requests a hold for 1 ticket
    Then a hold is created with status "active"
    And 1 ticket is held in total

  Scenario: A hold is released only once
    Given an active hold for customer "user@example.com"
    When the hold is released
    And the hold is released
    Then the request fails with "invalid_hold_state"
    And the message is "The hold is cancelled and cannot be changed any more"
    And the inventory is available again

  Scenario: Too late to release
    Given an active hold that expired 1 minute ago
    When the expiry worker runs
    And the hold is released
    Then the request fails with "hold_expired"
    And the message is "The hold has expired"
    And the hold status is "expired"

  Scenario: Release of a hold that does not exist
    When a hold that does not exist is released
    Then the request fails with "hold_not_found"
