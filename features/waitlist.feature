Feature: Waitlist
  Most buyers come when it is sold out. Whoever waits first is served first, in the same instant
  that a place is freed.

  Background:
    Given session "concert-123" has 4 tickets and keeps a line
    And another customer holds 4 tickets

  Scenario: Joining the line
    When "ada" asks for 1 ticket
    And "bob" asks for 2 tickets
    Then "ada" waits at position 1
    And "bob" waits at position 2
    And 4 tickets are held in all

  Scenario: Whoever came first is served first
    When "ada" asks for 2 tickets
    And "bob" asks for 2 tickets
    And "eve" asks for 1 ticket
    And the other customer lets go
    Then "ada" has 2 tickets
    And "bob" has 2 tickets
    And "eve" waits at position 1
    And 4 tickets are held in all

  Scenario: A newcomer does not overtake
    Given another customer has let 1 ticket go while "ada" waits for 3
    When "bob" asks for 1 ticket
    Then "bob" waits at position 2
    And "ada" waits at position 1

  Scenario: A party is served whole
    Given another customer has let 1 ticket go while "ada" waits for 3
    When the other customer lets go
    Then "ada" has 3 tickets

  Scenario: A fresh time to pay
    When "ada" asks for 1 ticket
    And the other customer lets go
    Then "ada" has 10 minutes to pay
    And "ada" is told of it by a fact

  Scenario: Leaving the line
    When "ada" asks for 1 ticket
    And "bob" asks for 1 ticket
    And "ada" leaves the line
    Then "bob" waits at position 1

  Scenario: Somebody else's time is up
    When "ada" asks for 1 ticket
    And 11 minutes pass
    And the expiry worker runs
    Then "ada" has 1 ticket

  Scenario: A promotion that nobody takes goes to the next
    When "ada" asks for 4 tickets
    And "bob" asks for 4 tickets
    And the other customer lets go
    And 11 minutes pass
    And the expiry worker runs
    Then "bob" has 4 tickets

  Scenario: More tickets go on sale
    When "ada" asks for 2 tickets
    And 2 more tickets go on sale
    Then "ada" has 2 tickets

  Scenario: So many places in line for one person
    When "ada" asks for 1 ticket 4 times
    And "ada" asks for 1 ticket
    Then the request fails with "waiting_places_exceeded"

  Scenario: Nobody waits for more than there will ever be
    When "ada" asks for 5 tickets
    Then the request fails with "insufficient_inventory"

  Scenario: A cart waits
    When the buyer puts 2 tickets into the cart
    Then the cart waits at position 1
    When the other customer lets go
    Then the cart holds 2 tickets

  Scenario: A cart that waits cannot be paid for
    When the buyer puts 2 tickets into the cart
    And the buyer goes to pay for the cart
    Then the request fails with "invalid_hold_state"
