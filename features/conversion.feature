Feature: From hold to order
  When the order is confirmed, the hold is converted: its places are sold, and each becomes a ticket.

  Scenario: Convert hold to order
    Given an active hold for customer "user@example.com"
    When the order is confirmed
    Then the hold status is "converted"
    And a hold.converted event is published with the order
    And the hold and its order refer to each other
    And the order has 2 tickets with 2 different codes

  Scenario: Converted holds are not expired
    Given an active hold for customer "user@example.com"
    When the order is confirmed
    And 11 minutes pass
    And the expiry worker runs
    Then the hold status is "converted"
    And nothing is held
    And 8 tickets are available

  Scenario: Hold expired before payment
    Given an active hold that expired 1 minute ago
    When the order is confirmed
    Then the request fails with "hold_expired"
    And the message is "The hold has expired"
    And the inventory is available again

  Scenario: A late payment, and the places are still free
    Given late payments are accepted for 2 minutes
    And a hold that expired 1 minute ago
    When the order is confirmed
    Then a new hold replaces the lapsed one and is converted
    And the hold status is "expired"

  Scenario: A late payment, and the places are taken
    Given late payments are accepted for 2 minutes
    And a hold that expired 1 minute ago
    When another customer requests a hold for 9 tickets
    And the order of the first hold is confirmed
    Then the request fails with "hold_expired"
    And 9 tickets are held in total

  Scenario: The order is confirmed twice
    Given an active hold for customer "user@example.com"
    When the order is confirmed
    And the order is confirmed
    Then both responses are the same
    And the order has 2 tickets with 2 different codes

  Scenario: Names on the tickets
    Given an active hold for customer "user@example.com"
    When the order is confirmed for "Ada Lovelace" and "Grace Hopper"
    Then the tickets are for "Ada Lovelace" and "Grace Hopper"
