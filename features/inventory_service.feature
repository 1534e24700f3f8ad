Feature: Inventory Service
  The Inventory Service knows how many tickets are left. The Hold Service asks it for the tickets of each hold. Its
  calls may repeat and overtake each other, and no ticket is lost or sold twice.

  Background:
    Given the Inventory Service has 10 tickets

  Scenario: Tickets are reserved for a hold
    When the Hold Service holds 3 tickets
    Then the answer is 201 and the reservation is "held"
    And 7 tickets are available, 3 held and 0 sold

  Scenario: Not enough tickets are left
    Given 9 tickets are held for other customers
    When the Hold Service holds 2 tickets
    Then the answer is 409 with "insufficient_inventory"
    And the message is "Only 1 ticket(s) available"
    And 1 ticket is available, 9 held and 0 sold

  Scenario: A hold that is sent again takes nothing more
    When the Hold Service holds 3 tickets
    And the Hold Service holds 3 tickets
    Then the answer is 200 and the reservation is "held"
    And 7 tickets are available, 3 held and 0 sold

  Scenario: A hold ends
    When the Hold Service holds 3 tickets
    And the Hold Service releases them
    And the Hold Service releases them
    Then the answer is 200 and the reservation is "released"
    And 10 tickets are available, 0 held and 0 sold

  Scenario: The end of a hold overtakes it
    When the Hold Service releases them
    And the Hold Service holds 3 tickets
    Then the answer is 409 with "invalid_hold_state"
    And 10 tickets are available, 0 held and 0 sold

  Scenario: A hold is paid for
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 of them
    Then the answer is 200 and the reservation is "committed"
    And 7 tickets are available, 0 held and 3 sold

  Scenario: A payment overtakes its hold, and is sent again
    When the Hold Service sells 3 of them
    Then the answer is 404 with "hold_not_found"
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 of them
    Then the answer is 200 and the reservation is "committed"

  Scenario: Sold tickets are not released
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 of them
    And the Hold Service releases them
    Then the answer is 409 with "invalid_hold_state"
    And 7 tickets are available, 0 held and 3 sold

  Scenario: Some tickets are cancelled, and then all
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 of them
    And the Hold Service sells 1 of them
    Then 9 tickets are available, 0 held and 1 sold
    When the Hold Service sells 0 of them
    Then 10 tickets are available, 0 held and 0 sold

  Scenario: The first sale arrives after the cancellation
    When the Hold Service holds 3 tickets
    And the Hold Service sells 1 of them
    And the Hold Service sells 3 of them
    Then the answer is 200 and the reservation is "committed"
    And 9 tickets are available, 0 held and 1 sold

  Scenario: A hold never expires by itself
    When the Hold Service holds 3 tickets
    And a day passes
    Then 7 tickets are available, 3 held and 0 sold
    When the Hold Service sells 3 of them
    Then the answer is 200 and the reservation is "committed"

  Scenario: More tickets become available
    Given 10 tickets are held for other customers
    When the operator sets the number of tickets to 12
    And the Hold Service holds 2 tickets
    Then the answer is 201 and the reservation is "held"
    And 0 tickets are available, 12 held and 0 sold

  Scenario: The number of tickets cannot go below what is held
    Given 9 tickets are held for other customers
    When the operator sets the number of tickets to 8
    Then the answer is 409 with "capacity_in_use"
    And 1 ticket is available, 9 held and 0 sold
