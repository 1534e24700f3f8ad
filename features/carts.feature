Feature: Carts
  Buyers change their minds, double-click and lose their connection. The hold always matches the
  cart, and nothing is held twice.

  Background:
    Given session "concert-123" has 10 tickets

  Scenario: A buyer puts tickets into the cart
    When the buyer puts 2 tickets into the cart
    Then the cart holds 2 tickets
    And 2 tickets are held in total

  Scenario: A buyer changes the quantity repeatedly
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 4 tickets
    And the buyer changes the cart to 3 tickets
    And the buyer changes the cart to 5 tickets
    Then the cart holds 5 tickets
    And it is still the same hold, with the same expiry
    And 5 tickets are held in total

  Scenario: The same cart is sent again
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 2 tickets
    Then it is still the same hold, with the same expiry
    And the hold is unchanged

  Scenario: More tickets than are available
    Given another customer holds 7 tickets
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 4 tickets
    Then the request fails with "insufficient_inventory"
    And the cart holds 2 tickets
    And 9 tickets are held in total

  Scenario: As many tickets as are available
    Given another customer holds 7 tickets
    When the buyer asks for 5 tickets, or at least 2
    Then the cart holds 3 tickets

  Scenario: Fewer tickets, although everything is sold out
    Given another customer holds 6 tickets
    When the buyer puts 4 tickets into the cart
    And the buyer changes the cart to 1 ticket
    Then the cart holds 1 ticket
    And 7 tickets are held in total

  Scenario: Tickets that stay in the cart keep their price
    When the buyer puts 2 tickets into the cart
    And the ticket price rises
    And the buyer changes the cart to 1 ticket
    Then the cart has the old price of 1 ticket

  Scenario: Two tabs at once
    When the buyer sends 2, 3, 4 and 5 tickets from four tabs at once
    Then the tickets held match the cart

  Scenario: The buyer empties the cart
    When the buyer puts 2 tickets into the cart
    And the buyer empties the cart
    Then the cart is empty
    And nothing is held

  Scenario: An empty cart holds nothing
    When the buyer empties the cart
    Then the cart is empty
    When the buyer renews the cart
    Then the request fails with "empty_cart"
    And nothing is held

  Scenario: The hold expires, and the buyer renews it
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    Then the cart can be renewed
    When the buyer renews the cart
    Then the cart holds 2 tickets
    And it is a new hold with the full time

  Scenario: The hold expires, and others take the tickets
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    And another customer holds 9 tickets
    And the buyer renews the cart
    Then the request fails with "insufficient_inventory"
    And the cart can be renewed

  Scenario: The response is lost
    When the buyer puts 2 tickets into the cart with an idempotency key
    And the same request is sent again
    Then both responses are the same
    And 2 tickets are held in total

  Scenario: Another customer's cart
    When the buyer puts 2 tickets into the cart
    And a stranger puts 1 ticket into the same cart
    Then the request fails with "cart_of_another_holder"
    And the cart holds 2 tickets

  Scenario: Paying for the cart
    When the buyer puts 2 tickets into the cart
    And the buyer checks out the cart
    And the payment is made
    Then the order has 2 tickets with 2 different codes
    And the cart was paid for

  Scenario: Checking out after the hold expired
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    And the buyer checks out the cart
    Then the request fails with "expired_before_checkout"
