Feature: Lapsed holds block nobody
  A hold ends at its very second, whether or not the expiry worker has come by. The worker only
  writes it down.

  Background:
    Given the expiry worker is away

  Scenario: The tickets are on sale again
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    Then 4 tickets are available
    And the hold still waits for the expiry worker

  Scenario: The next customer gets them
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When another customer requests a hold for 3 tickets
    Then a hold is created with status "active"
    And 1 ticket is available
    And the first hold was expired on the way, and a hold.expired event is published

  Scenario: No more than there is
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When another customer requests a hold for 5 tickets
    Then the request fails with "insufficient_inventory"
    And the message is "Only 4 ticket(s) available"
    And the hold still waits for the expiry worker

  Scenario: Everybody sees it as expired
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When the hold is read
    Then the hold status is "expired"
    And no time is left
    And the hold still waits for the expiry worker

  Scenario: Its customer is too late
    Given session "concert-123" with 4 tickets, all in a hold that expired 1 minute ago
    When the hold is released
    Then the request fails with "hold_expired"

  Scenario: Not a second early
    Given session "concert-123" with 4 tickets, all in a hold that expires in 30 seconds
    When another customer requests a hold for 1 ticket
    Then the request fails with "insufficient_inventory"
    And the message is "Only 0 ticket(s) available"
