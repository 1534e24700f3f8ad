Feature: Carts
  Buyers change their minds, double-click and lose their connection. A cart always has exactly the
  hold that it shows, and nothing is held twice.

  Background:
    Given session "concert-123" has 10 tickets

  Scenario: A buyer puts tickets into the cart
    When the buyer puts 2 tickets into the cart
    Then the cart holds 2 tickets
    And 2 tickets are held in all

  Scenario: A buyer changes the quantity again and again
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 4 tickets
    And the buyer changes the cart to 3 tickets
    And the buyer changes the cart to 5 tickets
    Then the cart holds 5 tickets
    And it is still the same hold, with the same end
    And 5 tickets are held in all

  Scenario: The same cart once more
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 2 tickets
    Then it is still the same hold, with the same end
    And nothing about the hold was changed

  Scenario: More than there is
    Given another customer holds 7 tickets
    When the buyer puts 2 tickets into the cart
    And the buyer changes the cart to 4 tickets
    Then the request fails with "insufficient_inventory"
    And the cart holds 2 tickets
    And 9 tickets are held in all

  Scenario: As many as there are
    Given another customer holds 7 tickets
    When the buyer asks for 5 tickets, or at least 2
    Then the cart holds 3 tickets

  Scenario: Less, though everything is gone
    Given another customer holds 6 tickets
    When the buyer puts 4 tickets into the cart
    And the buyer changes the cart to 1 ticket
    Then the cart holds 1 ticket
    And 7 tickets are held in all

  Scenario: The price stays for what stays
    When the buyer puts 2 tickets into the cart
    And the tickets become dearer
    And the buyer changes the cart to 1 ticket
    Then the cart costs as much as 1 ticket cost before

  Scenario: Two tabs at once
    When the buyer sends 2, 3, 4 and 5 tickets from four tabs at once
    Then what is held in all is what the cart shows

  Scenario: The buyer takes everything out again
    When the buyer puts 2 tickets into the cart
    And the buyer takes everything out of the cart
    Then the cart is empty
    And nothing is held

  Scenario: An empty cart holds nothing
    When the buyer takes everything out of the cart
    Then the cart is empty
    When the buyer renews the cart
    Then the request fails with "empty_cart"
    And nothing is held

  Scenario: The time is up, and the buyer renews
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    Then the cart can be renewed
    When the buyer renews the cart
    Then the cart holds 2 tickets
    And it is a new hold with fresh time

  Scenario: The time is up, and others were quicker
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    And another customer holds 9 tickets
    And the buyer renews the cart
    Then the request fails with "insufficient_inventory"
    And the cart can be renewed

  Scenario: The answer got lost
    When the buyer puts 2 tickets into the cart with an idempotency key
    And the same request is sent again
    Then both answers are the same
    And 2 tickets are held in all

  Scenario: A cart of somebody else
    When the buyer puts 2 tickets into the cart
    And a stranger puts 1 ticket into the same cart
    Then the request fails with "cart_of_another_holder"
    And the cart holds 2 tickets

  Scenario: Paying for the cart
    When the buyer puts 2 tickets into the cart
    And the buyer goes to pay for the cart
    And the payment is made
    Then the order has 2 tickets with 2 different codes
    And the cart was paid for

  Scenario: Going to pay when the time is up
    When the buyer puts 2 tickets into the cart
    And 11 minutes pass
    And the buyer goes to pay for the cart
    Then the request fails with "expired_before_checkout"
