Feature: Retries
  An answer can get lost on its way. Whoever did not get one sends the same request again, and
  never holds twice.

  Background:
    Given session "concert-123" has available tickets

  Scenario: The same request again
    When a customer requests a hold for 2 tickets with an idempotency key
    And the same request is sent again
    Then both answers are the same, byte for byte
    And the second answer says that it is a repetition
    And 2 tickets are held in all

  Scenario: The same request many times at once
    When a customer sends the same request for 2 tickets 12 times at once
    Then all answers are the same, byte for byte
    And 2 tickets are held in all

  Scenario: Another request under the same key
    When a customer requests a hold for 2 tickets with an idempotency key
    And a hold for 3 tickets is requested with the same key
    Then the request fails with "idempotency_key_reused"
    And the status of the answer is 422
    And 2 tickets are held in all

  Scenario: A hold id that the client chose
    When a customer requests a hold for 2 tickets with a hold id of their own
    And the same request is sent again
    Then both answers are the same, byte for byte
    And the hold has the id that was chosen
    And 2 tickets are held in all

  Scenario: Another request under the same hold id
    When a customer requests a hold for 2 tickets with a hold id of their own
    And a hold for 3 tickets is requested with the same hold id
    Then the request fails with "idempotency_key_reused"
    And 2 tickets are held in all

  Scenario: A refusal that time may change is not remembered
    Given only 1 ticket is available for session "small-hall"
    When a customer requests a hold for 2 tickets with an idempotency key
    Then the request fails with "insufficient_inventory"
    When 1 more ticket goes on sale
    And the same request is sent again
    Then a hold is created with status "active"
    And 2 tickets are held in all

  Scenario: A retry does not bring back what was released
    When a customer requests a hold for 2 tickets with an idempotency key
    And the hold is released
    And the first request is sent again
    Then the answer is the first one, byte for byte
    And nothing is held

  Scenario: A release that is sent again
    When a customer requests a hold for 2 tickets
    And the hold is released with an idempotency key
    And the same request is sent again
    Then both answers are the same, byte for byte
    And the hold status is "cancelled"

  Scenario: A cart that is sent many times at once
    When a customer sends the same cart of 3 tickets 5 times at once with one key
    Then all answers are the same, byte for byte
    And 3 tickets are held in all

  Scenario: A retry does not undo what was done to the cart since
    When the buyer puts 2 tickets into the cart with an idempotency key
    And the buyer changes the cart to 4 tickets
    And the first request is sent again
    Then the answer is the first one, byte for byte
    And the cart holds 4 tickets

  Scenario: What is kept for a retry tells nothing about the customer
    When the buyer puts 2 tickets into the cart with an idempotency key
    Then neither the cart nor the customer can be found in what is kept for it
