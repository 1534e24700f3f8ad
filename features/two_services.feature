Feature: Holds in front of an Inventory Service
  A platform with an inventory of its own lets Holdfast keep the holds. The Hold Service asks the
  Inventory Service for the tickets of each hold, and the two never disagree for long.

  Scenario: Create hold successfully
    Given session "concert-123" has available tickets in the Inventory Service
    When a customer requests a hold for 2 tickets
    Then a hold is created with status "active"
    And the hold expires in 10 minutes
    And the Inventory Service has 2 tickets held and 0 sold

  Scenario: Insufficient inventory
    Given only 1 ticket is available in the Inventory Service
    When a customer requests a hold for 5 tickets
    Then the request fails with "insufficient_inventory"
    And the available quantity is returned
    And the message is "Only 1 ticket(s) available"
    And the Inventory Service has 0 tickets held and 0 sold

  Scenario: Hold expires automatically
    Given an active hold for 2 tickets of the Inventory Service
    When its time runs out
    Then the hold status is "expired"
    And the Inventory Service has 0 tickets held and 0 sold

  Scenario: Release a hold
    Given an active hold for 2 tickets of the Inventory Service
    When the customer releases the hold
    Then the hold status is "cancelled"
    And the Inventory Service has 0 tickets held and 0 sold

  Scenario: Convert hold to order
    Given an active hold for 2 tickets of the Inventory Service
    When the order is confirmed
    Then the hold status is "converted"
    And the Inventory Service has 0 tickets held and 2 sold

  Scenario: Cancel a ticket
    Given an active hold for 2 tickets of the Inventory Service
    When the order is confirmed
    And one of its tickets is cancelled
    Then the Inventory Service has 0 tickets held and 1 sold

  Scenario: The availability comes from the Inventory Service
    Given an active hold for 2 tickets of the Inventory Service
    When the availability is read
    Then 8 of 10 tickets are available

  Scenario: The Inventory Service does not answer
    Given session "concert-123" has available tickets in the Inventory Service
    And the Inventory Service stops
    When a customer requests a hold for 2 tickets
    Then the request fails with "service_unavailable"
    And the message is "Unable to process hold request. Please try again."
    And the attempted hold has failed
    When the Inventory Service is back
    Then the Inventory Service has 0 tickets held and 0 sold
    And the customer gets a hold for 2 tickets

  Scenario: Retry a request
    Given session "concert-123" has available tickets in the Inventory Service
    When a customer requests a hold for 2 tickets with an idempotency key
    And the same request is sent again
    Then both answers are the same
    And the Inventory Service has 2 tickets held and 0 sold

  Scenario Outline: Carts and seats are refused
    Given session "concert-123" has available tickets in the Inventory Service
    When a customer <asks>
    Then the request fails with "not_with_remote_inventory"

    Examples:
      | asks                              |
      | fills a cart                      |
      | requests a hold for a seated type |
