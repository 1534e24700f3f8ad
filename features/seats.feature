Feature: Seats
  A customer holds specific seats for a few minutes, or the best available ones. No seat is ever held
  by two people.

  Background:
    Given a hall with 2 rows of 6 seats

  Scenario: Hold a specific seat
    When a customer holds seat "A3"
    Then a hold is created with status "active"
    And seat "A3" is held
    And the hold shows block, row and number of "A3"

  Scenario: A held seat is not available to others
    Given another customer holds seat "A3"
    When a customer holds seat "A3"
    Then the request fails with "seat_held_by_another_user"
    And the error says for how long, but not by whom

  Scenario: All or nothing
    Given another customer holds seat "A3"
    When a customer holds seats "A2", "A3", "A4"
    Then the request fails with "seat_held_by_another_user"
    And the contested seats are "A3"
    And seats "A2", "A4" are available

  Scenario: Contested seats come with an alternative when the customer asks for one
    Given another customer holds seats "A3", "A4"
    When a customer holds seats "A4", "A5" or else the next best
    Then the request fails with "seat_held_by_another_user"
    And the contested seats are "A4"
    And 2 other seats side by side are offered
    When the customer holds the seats that were offered
    Then a hold is created with status "active"

  Scenario: An expired seat is free again
    Given another customer held seat "A3" until a minute ago
    When a customer holds seat "A3"
    Then a hold is created with status "active"

  Scenario: A released seat is free again
    Given another customer holds seat "A3"
    When the hold is released
    Then seat "A3" is available

  Scenario: The best seats together
    When a customer asks for the best 4 seats
    Then a hold is created with status "active"
    And the 4 seats are side by side

  Scenario: Two parties get different seats
    Given another customer asked for the best 4 seats
    When a customer asks for the best 4 seats
    Then the 4 seats are side by side
    And no seat is held twice

  Scenario: Not enough seats
    Given another customer asked for the best 9 seats
    When a customer asks for the best 10 seats
    Then the request fails with "insufficient_inventory"
    And the message is "Not enough seats available. Requested: 10, Available: 3"

  Scenario: No seats at all
    Given another customer asked for the best 12 seats
    When a customer asks for the best 1 seat
    Then the request fails with "no_available_seats"

  Scenario: Seats and standing places in one hold
    Given the hall also has 5 standing places
    When a customer holds seats "A1", "A2" and 3 standing places
    Then a hold is created with status "active"
    And it has 2 seats and 3 other places

  Scenario: No seats are held when the standing places are sold out
    Given the hall also has 5 standing places
    When a customer holds seats "A1", "A2" and 6 standing places
    Then the request fails with "insufficient_inventory"
    And seats "A1", "A2" are available

  Scenario: One hold per customer and session
    Given customers may have one active hold per session
    And customer "ann@example.com" holds seat "A1"
    When customer "ann@example.com" holds seat "A2"
    Then the request fails with "active_hold_exists"
    And the message is "You already have an active hold for this session"
    And the error names the existing hold

  Scenario: Hold statistics
    Given another customer held seat "B1" until a minute ago
    And another customer asked for the best 3 seats
    When the statistics are read
    Then there is 1 active hold of 3 seats
