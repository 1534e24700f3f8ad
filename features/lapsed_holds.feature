Feature: Lapsed holds block nobody
  A hold ends on time to the second, even if the expiry worker is not running. The worker only
  records it.

  Background:
    Given the expiry worker is not running

  Scenario: The tickets are on sale again
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    Then 4 tickets are available
    And the hold is not yet marked as expired

  Scenario: The next customer gets them
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When another customer requests a hold for 3 tickets
    Then a hold is created with status "active"
    And 1 ticket is available
    And the first hold is marked as expired, and a hold.expired event is published

  Scenario: More tickets than are available
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When another customer requests a hold for 5 tickets
    Then the request fails with "insufficient_inventory"
    And the message is "Only 4 ticket(s) available"
    And the hold is not yet marked as expired

  Scenario: The hold shows as expired
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When the hold is read
    Then the hold status is "expired"
    And no time is left
    And the hold is not yet marked as expired

  Scenario: Too late to release it
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When the hold is released
    Then the request fails with "hold_expired"

  Scenario: Not a second early
    Given session "concert-123" with 4 tickets, all in a hold that expires in 30 seconds
    When another customer requests a hold for 1 ticket
    Then the request fails with "insufficient_inventory"
    And the message is "Only 0 ticket(s) available"
