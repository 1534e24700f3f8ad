Feature: Retries
  A response can get lost. The client then sends the same request again, and nothing is held twice.

  Background:
    Given session "concert-123" has available tickets

  Scenario: The same request is sent again
    When a customer requests a hold for 2 tickets with an idempotency key
    And the same request is sent again
    Then both responses are the same, byte for byte
    And the second response is marked as a replay
    And 2 tickets are held in total

  Scenario: The same request is sent many times at once
    When a customer sends the same request for 2 tickets 12 times at once
    Then all responses are the same, byte for byte
    And 2 tickets are held in total

  Scenario: A different request with the same key
    When a customer requests a hold for 2 tickets with an idempotency key
    And a hold for 3 tickets is requested with the same key
    Then the request fails with "idempotency_key_reused"
    And the status of the response is 422
    And 2 tickets are held in total

  Scenario: A hold id that the client chose
    When a customer requests a hold for 2 tickets with a hold id of their own
    And the same request is sent again
    Then both responses are the same, byte for byte
    And the hold has the id that was chosen
    And 2 tickets are held in total

  Scenario: A different request with the same hold id
    When a customer requests a hold for 2 tickets with a hold id of their own
    And a hold for 3 tickets is requested with the same hold id
    Then the request fails with "idempotency_key_reused"
    And 2 tickets are held in total

  Scenario: A refusal that may change later is not replayed
    Given only 1 ticket is available for session "small-hall"
    When a customer requests a hold for 2 tickets with an idempotency key
    Then the request fails with "insufficient_inventory"
    When 1 more ticket goes on sale
    And the same request is sent again
    Then a hold is created with status "active"
    And 2 tickets are held in total

  Scenario: A retry does not restore a released hold
    When a customer requests a hold for 2 tickets with an idempotency key
    And the hold is released
    And the first request is sent again
    Then the response is the first one, byte for byte
    And nothing is held

  Scenario: A release is sent again
    When a customer requests a hold for 2 tickets
    And the hold is released with an idempotency key
    And the same request is sent again
    Then both responses are the same, byte for byte
    And the hold status is "cancelled"

  Scenario: A cart is sent many times at once
    When a customer sends the same cart of 3 tickets 5 times at once with one key
    Then all responses are the same, byte for byte
    And 3 tickets are held in total

  Scenario: A retry does not undo later changes of the cart
    When the buyer puts 2 tickets into the cart with an idempotency key
    And the buyer changes the cart to 4 tickets
    And the first request is sent again
    Then the response is the first one, byte for byte
    And the cart holds 4 tickets

  Scenario: The stored response reveals nothing about the customer
    When the buyer puts 2 tickets into the cart with an idempotency key
    Then the stored response reveals neither the cart nor the customer
