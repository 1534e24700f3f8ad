Feature: Blocked seats
  Operators block seats, for a camera or a broken chair, and unblock them.

  Background:
    Given a hall with 2 rows of 6 seats

  Scenario: A blocked seat is not sold
    Given the operator has blocked seats "A3", "A4"
    When a customer holds seat "A3"
    Then the request fails with "seat_not_available"
    And the error says that the seat is blocked

  Scenario: Best available skips blocked seats
    Given the operator has blocked seats "A1", "A2", "A3", "A4", "A5", "A6"
    When a customer asks for the best 3 seats
    Then the seats are in row "B"

  Scenario: Blocking a held seat ends its hold
    Given another customer holds seats "A3", "A4"
    When the operator blocks seats "A3"
    Then the hold status is "cancelled"
    And seat "A3" is blocked
    And seat "A4" is available

  Scenario: An unblocked seat is on sale again
    Given the operator has blocked seats "A3"
    When the operator unblocks seats "A3"
    And a customer holds seat "A3"
    Then a hold is created with status "active"

  Scenario: Unblocking never frees a sold seat
    Given seat "A3" was sold
    And the operator has blocked seats "A3"
    When the operator unblocks seats "A3"
    Then seat "A3" is sold

  Scenario: A seat that does not exist
    When the operator blocks seat "A3" and one that does not exist
    Then the request fails with "invalid_seat"
    And seat "A3" is available
