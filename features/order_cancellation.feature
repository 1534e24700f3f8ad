Feature: Cancelling orders
  An operator cancels an order, or single tickets of it. The tickets become void, their places go to the
  waitlist or back on sale, and the refund is left to the platform.

  Scenario: Cancel a whole order
    Given a paid order for 2 tickets
    When the order is cancelled because "The buyer fell ill"
    Then the order status is "cancelled"
    And all its tickets are void
    And 10 tickets are available
    And the hold status is "converted"
    And order.cancelled is published once, and ticket.voided for 2 tickets

  Scenario: Cancel one ticket of an order
    Given a paid order for 2 tickets
    When the first ticket is cancelled because "Bought one too many"
    Then the order status is "partly_cancelled"
    And 1 ticket is void and 1 is valid
    And 9 tickets are available

  Scenario: The refund is recorded
    Given a paid order for 2 tickets
    When the order is cancelled with the refund "re_8842"
    Then the tickets and the audit log have the refund "re_8842"

  Scenario: An order is cancelled only once
    Given a paid order for 2 tickets
    When the order is cancelled because "The buyer fell ill"
    And the order is cancelled because "The buyer fell ill"
    Then the request fails with "order_already_cancelled"
    And 10 tickets are available

  Scenario: A ticket is cancelled only once
    Given a paid order for 2 tickets
    When the first ticket is cancelled because "Bought one too many"
    And the first ticket is cancelled because "Bought one too many"
    Then the request fails with "ticket_already_void"
    And 9 tickets are available

  Scenario: A retry of a cancellation
    Given a paid order for 2 tickets
    When the order is cancelled with an idempotency key
    And the same request is sent again
    Then both responses are the same

  Scenario: A void ticket at the door
    Given a paid order for 2 tickets
    When the first ticket is cancelled because "Bought one too many"
    Then the code of the first ticket leads to the order, where it is "void"
    And the code of the second ticket leads to the order, where it is "valid"

  Scenario: A cancelled place reaches the waitlist
    Given a sold-out session for which "ada" and then "bob" wait
    When the order is cancelled because "The buyer fell ill"
    Then "ada" gets the place
    And "bob" still waits

  Scenario: The person who cancelled is served only in their turn on the waitlist
    Given a sold-out session for which "ada" waits
    And the buyer of the order waits behind her for another ticket
    When the order is cancelled because "The buyer fell ill"
    Then "ada" gets the place
    And the buyer still waits

  Scenario: Nobody is served after the sale
    Given a sold-out session for which "ada" waits
    When the sale ends
    And the order is cancelled because "The buyer fell ill"
    Then nobody waits any more, and nobody got the place

  Scenario: Nobody is served after the session has started
    Given a sold-out session for which "ada" waits
    When the session starts
    And the order is cancelled because "The buyer fell ill"
    Then nobody waits any more, and nobody got the place

  Scenario: The order of a cancelled event
    Given a paid order for 2 tickets
    When the event is cancelled
    And the order is cancelled because "The concert is off"
    Then the order status is "cancelled"
