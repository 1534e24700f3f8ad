Feature: Inventory Service
  The Inventory Service knows how many tickets are left. The Hold Service asks it for the tickets of each hold. Calls
  may be repeated and overtake each other, but no ticket is lost or sold twice.

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

  Scenario: A repeated hold takes nothing more
    When the Hold Service holds 3 tickets
    And the Hold Service holds 3 tickets
    Then the answer is 200 and the reservation is "held"
    And 7 tickets are available, 3 held and 0 sold

  Scenario: A hold is released twice
    When the Hold Service holds 3 tickets
    And the Hold Service releases the hold
    And the Hold Service releases the hold
    Then the answer is 200 and the reservation is "released"
    And 10 tickets are available, 0 held and 0 sold

  Scenario: A release arrives before its hold
    When the Hold Service releases the hold
    And the Hold Service holds 3 tickets
    Then the answer is 409 with "invalid_hold_state"
    And 10 tickets are available, 0 held and 0 sold

  Scenario: A hold is paid for
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 tickets
    Then the answer is 200 and the reservation is "committed"
    And 7 tickets are available, 0 held and 3 sold

  Scenario: A sale arrives before its hold, and is sent again
    When the Hold Service sells 3 tickets
    Then the answer is 404 with "hold_not_found"
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 tickets
    Then the answer is 200 and the reservation is "committed"

  Scenario: Sold tickets cannot be released
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 tickets
    And the Hold Service releases the hold
    Then the answer is 409 with "invalid_hold_state"
    And 7 tickets are available, 0 held and 3 sold

  Scenario: Some tickets are cancelled, and then the rest
    When the Hold Service holds 3 tickets
    And the Hold Service sells 3 tickets
    And the Hold Service sells 1 ticket
    Then 9 tickets are available, 0 held and 1 sold
    When the Hold Service sells 0 tickets
    Then 10 tickets are available, 0 held and 0 sold

  Scenario: The sale arrives after a cancellation
    When the Hold Service holds 3 tickets
    And the Hold Service sells 1 ticket
    And the Hold Service sells 3 tickets
    Then the answer is 200 and the reservation is "committed"
    And 9 tickets are available, 0 held and 1 sold

  Scenario: A hold never expires by itself
    When the Hold Service holds 3 tickets
    And a day passes
    Then 7 tickets are available, 3 held and 0 sold
    When the Hold Service sells 3 tickets
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
