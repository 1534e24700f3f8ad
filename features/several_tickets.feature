Feature: Several ticket types in one hold
  A family buys adult and child tickets together. They get all or nothing.

  Background:
    Given a session with these ticket types
      | name   | price | available |
      | Adult  | 4500  | 10        |
      | Child  | 2000  | 3         |
      | Dinner | 8000  | 0         |

  Scenario: Everything is available
    When a customer requests a hold for
      | ticket type | quantity |
      | Adult       | 2        |
      | Child       | 3        |
    Then a hold is created with status "active"
    And the hold has 5 tickets for 15000 in total
    And the hold has no single ticket type
    And 8 "Adult" tickets are available
    And 0 "Child" tickets are available

  Scenario: Too few tickets of one type, so nothing is held
    When a customer requests a hold for
      | ticket type | quantity |
      | Adult       | 2        |
      | Child       | 4        |
    Then the request fails with "insufficient_inventory"
    And the message is "Only 3 ticket(s) available"
    And nothing is held

  Scenario: The last of several types is sold out, so nothing is held
    When a customer requests a hold for
      | ticket type | quantity |
      | Adult       | 1        |
      | Child       | 1        |
      | Dinner      | 1        |
    Then the request fails with "insufficient_inventory"
    And the message is "Only 0 ticket(s) available"
    And nothing is held

  Scenario: Lines of the same type are added up
    When a customer requests a hold for
      | ticket type | quantity |
      | Child       | 2        |
      | Child       | 2        |
    Then the request fails with "insufficient_inventory"
    And nothing is held

  Scenario: One unknown type, so nothing is held
    When a customer requests a hold for
      | ticket type | quantity |
      | Adult       | 2        |
      | Nobody's    | 1        |
    Then the request fails with "invalid_ticket_type"
    And nothing is held

  Scenario: Releasing the hold frees all tickets
    When a customer requests a hold for
      | ticket type | quantity |
      | Adult       | 2        |
      | Child       | 3        |
    And the hold is released
    Then the hold status is "cancelled"
    And 10 "Adult" tickets are available
    And 3 "Child" tickets are available
