Feature: Waitlist
  Buyers who find nothing left join the waitlist. A freed place goes to the first of them, in the same
  transaction.

  Background:
    Given session "concert-123" has 4 tickets and a waitlist
    And another customer holds 4 tickets

  Scenario: Joining the waitlist
    When "ada" asks for 1 ticket
    And "bob" asks for 2 tickets
    Then "ada" waits at position 1
    And "bob" waits at position 2
    And 4 tickets are held in total

  Scenario: First come, first served
    When "ada" asks for 2 tickets
    And "bob" asks for 2 tickets
    And "eve" asks for 1 ticket
    And the other customer releases the hold
    Then "ada" has 2 tickets
    And "bob" has 2 tickets
    And "eve" waits at position 1
    And 4 tickets are held in total

  Scenario: A newcomer does not overtake
    Given another customer has released 1 ticket while "ada" waits for 3
    When "bob" asks for 1 ticket
    Then "bob" waits at position 2
    And "ada" waits at position 1

  Scenario: A party gets all its tickets at once
    Given another customer has released 1 ticket while "ada" waits for 3
    When the other customer releases the hold
    Then "ada" has 3 tickets

  Scenario: A promoted buyer has the full time to pay
    When "ada" asks for 1 ticket
    And the other customer releases the hold
    Then "ada" has 10 minutes to pay
    And a fact reports the promotion of "ada"

  Scenario: Leaving the waitlist
    When "ada" asks for 1 ticket
    And "bob" asks for 1 ticket
    And "ada" leaves the waitlist
    Then "bob" waits at position 1

  Scenario: Another customer's hold expires
    When "ada" asks for 1 ticket
    And 11 minutes pass
    And the expiry worker runs
    Then "ada" has 1 ticket

  Scenario: An unpaid promotion goes to the next buyer
    When "ada" asks for 4 tickets
    And "bob" asks for 4 tickets
    And the other customer releases the hold
    And 11 minutes pass
    And the expiry worker runs
    Then "bob" has 4 tickets

  Scenario: More tickets go on sale
    When "ada" asks for 2 tickets
    And 2 more tickets go on sale
    Then "ada" has 2 tickets

  Scenario: A paused sale serves nobody until it is resumed
    When "ada" asks for 2 tickets
    And the organizer pauses the sale
    And the other customer releases the hold
    Then "ada" waits at position 1
    When the organizer resumes the sale
    Then "ada" has 2 tickets

  Scenario: Nobody is served after the session has started
    When "ada" asks for 2 tickets
    And the session starts
    And the other customer releases the hold
    Then "ada" is no longer on the waitlist

  Scenario: Nobody is served after the sale has ended
    When "ada" asks for 2 tickets
    And the organizer ends the sale
    And the other customer releases the hold
    Then "ada" is no longer on the waitlist

  Scenario: A buyer who gives tickets back is not offered them again
    When "ada" asks for 4 tickets
    And the other customer releases the hold
    And "ada" leaves the waitlist
    And "bob" asks for 4 tickets
    Then "ada" is no longer on the waitlist

  Scenario: Limited waitlist places per person
    When "ada" asks for 1 ticket 4 times
    And "ada" asks for 1 ticket
    Then the request fails with "waiting_places_exceeded"

  Scenario: Nobody waits for more than the capacity
    When "ada" asks for 5 tickets
    Then the request fails with "insufficient_inventory"

  Scenario: A cart waits
    When the buyer puts 2 tickets into the cart
    Then the cart waits at position 1
    When the other customer releases the hold
    Then the cart holds 2 tickets

  Scenario: A waiting cart cannot be paid for
    When the buyer puts 2 tickets into the cart
    And the buyer checks out the cart
    Then the request fails with "invalid_hold_state"
