Feature: Rate limits
  An organization limits how many tickets one buyer can reserve in a few minutes, and how many
  requests its keys, its buyers and single addresses can send. No limit is set by default.

  Scenario: At most 10 seats in 5 minutes
    Given a hall with 2 rows of 6 seats where seats are reserved for 5 minutes
    And the organization allows each buyer 10 seats in 5 minutes
    When a user reserves 10 seats one by one
    Then all of them are reserved
    When the same user reserves another seat
    Then the request fails with "rate_limit_exceeded"
    And the message is "Rate limit exceeded: max 10 seats reserved per 5 minutes"
    And the response says when to try again
    When another user reserves that seat
    Then it is reserved

  Scenario: Tickets without a seat also count
    Given tickets are on sale
    And the organization allows each buyer 10 seats in 5 minutes
    When a buyer holds 8 tickets
    Then the response says that 2 of 10 are left
    When the same buyer holds 3 tickets
    Then the request fails with "rate_limit_exceeded"
    When the same buyer holds 2 tickets
    Then the response says that 0 of 10 are left

  Scenario: A refused hold does not count
    Given only 1 ticket is on sale
    And the organization allows each buyer 10 seats in 5 minutes
    When a buyer holds 8 tickets
    Then the request fails with "insufficient_inventory"
    And the response says that 10 of 10 are left

  Scenario: A repeated request does not count, and is answered even at the limit
    Given tickets are on sale
    And the organization allows each buyer 10 seats in 5 minutes
    When a buyer holds 10 tickets with an idempotency key
    And the same request is sent again
    Then both responses are the same

  Scenario: A second click on a reserved seat is answered even at the limit
    Given a hall with 2 rows of 6 seats where seats are reserved for 5 minutes
    And the organization allows each buyer 1 seat in 5 minutes
    When a user reserves 1 seat one by one
    And the same user reserves the same seat
    Then the response is the existing reservation

  Scenario: A cart counts only the tickets added to it
    Given tickets are on sale
    And the organization allows each buyer 10 seats in 5 minutes
    When the buyer puts 8 tickets into the cart
    And the buyer changes the cart to 9 tickets
    Then the response says that 1 of 10 are left
    When the buyer changes the cart to 4 tickets
    Then the response says that 1 of 10 are left
    When the buyer changes the cart to 6 tickets
    Then the request fails with "rate_limit_exceeded"
    And the cart holds 4 tickets

  Scenario: Exchanging the seats of a cart counts the new ones
    Given a hall with 2 rows of 6 seats where seats are reserved for 5 minutes
    And the organization allows each buyer 10 seats in 5 minutes
    When the buyer puts the seats "A1", "A2", "A3", "A4" into the cart
    And the buyer changes the cart to the seats "A3", "A4", "A5", "A6"
    Then the response says that 4 of 10 are left
    When the buyer changes the cart to the seats "A6", "A5", "A4", "A3"
    Then the response says that 4 of 10 are left
    When the buyer changes the cart to the seats "B1", "B2", "B3", "B4", "B5"
    Then the request fails with "rate_limit_exceeded"

  Scenario: Other organizations are not affected
    Given tickets are on sale
    And the organization allows each buyer 1 seat in 5 minutes
    When the same buyer holds 10 tickets of another organization
    Then the hold has no limit
