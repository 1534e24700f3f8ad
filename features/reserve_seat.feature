Feature: Reserve Seat
  A user clicks on a seat and has five minutes to decide and pay.

  Background:
    Given a hall with 2 rows of 6 seats where seats are reserved for 5 minutes

  Scenario: User can reserve an available seat
    When a user reserves seat "A3"
    Then the reservation is confirmed with a countdown of 300 seconds
    And the message says that the seat is reserved for 5 minutes
    And seat "A3" is held

  Scenario: Duplicate reserve by the same user
    Given a user has reserved seat "A3"
    When the same user reserves seat "A3"
    Then the response is the existing reservation
    And there is one hold

  Scenario: Reserved by another user
    Given a user has reserved seat "A3"
    When another user reserves seat "A3"
    Then the request fails with "seat_held_by_another_user"
    And the response shows the remaining seconds, but no name

  Scenario: The reservation expires
    Given a user has reserved seat "A3"
    When 5 minutes have passed
    Then seat "A3" is available
    When another user reserves seat "A3"
    Then the reservation is confirmed with a countdown of 300 seconds

  Scenario Outline: The event is not on sale
    Given the event is <status>
    When a user reserves seat "A3"
    Then the request fails with "<error>"
    And seat "A3" is available

    Examples:
      | status    | error               |
      | archived  | event_not_available |
      | cancelled | event_unavailable   |

  Scenario: The sale has not begun
    Given the sale starts in 1 hour
    When a user reserves seat "A3"
    Then the request fails with "event_sales_closed"

  Scenario: The sale is over
    Given the sale ended 1 hour ago
    When a user reserves seat "A3"
    Then the request fails with "event_sales_closed"

  Scenario: Block at capacity
    Given the block has a capacity of 2
    And 2 users have reserved seats "A1", "A2"
    When a user reserves seat "A3"
    Then the request fails with "block_at_capacity"
    And seat "A3" is available

  Scenario: Unknown event and unknown seat
    When a user reserves a seat of an event that does not exist
    Then the request fails with "event_not_found"
    When a user reserves a seat that does not exist
    Then the request fails with "seat_not_found"
