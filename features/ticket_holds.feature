Feature: Ticket Hold System
  Customers reserve tickets for a limited time while they complete their purchase. Tickets that they
  do not buy go back on sale automatically.

  Scenario: Create hold successfully
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    Then a hold is created with status "active"
    And the hold expires in 10 minutes
    And inventory is reserved in the Inventory Service
    And a hold.created event is published

  Scenario: Hold expires automatically
    Given an active hold that expired 1 minute ago
    When the expiry worker runs
    Then the hold status is "expired"
    And a hold.expired event is published
    And the inventory is available again

  Scenario: Hold that still has time is left alone
    Given an active hold for customer "user@example.com"
    When the expiry worker runs
    Then the hold status is "active"

  Scenario: Insufficient inventory
    Given only 1 ticket is available for session "concert-123"
    When a customer requests a hold for 5 tickets
    Then the request fails with "insufficient_inventory"
    And the available quantity is returned
    And nothing is held

  Scenario: Last ticket
    Given only 1 ticket is available for session "concert-123"
    When a customer requests a hold for 1 ticket
    And another customer requests a hold for 1 ticket
    Then the request fails with "insufficient_inventory"
    And the message is "Only 0 ticket(s) available"
    And 1 ticket is held in total

  Scenario Outline: Invalid email
    Given session "concert-123" has available tickets
    When customer "<email>" requests a hold for 2 tickets
    Then the request fails with "invalid_email"
    And the message is "Invalid email format"
    And nothing is held

    Examples:
      | email             |
      | user              |
      | user@             |
      | @example.com      |
      | user@example      |
      | user@@example.com |
      | us er@example.com |
      | user@example..com |

  Scenario Outline: Invalid quantity
    Given session "concert-123" has available tickets
    When a customer requests a hold for <quantity> tickets
    Then the request fails with "invalid_quantity"
    And the message is "Quantity must be a whole number from 1 to 10000"
    And nothing is held

    Examples:
      | quantity |
      | 0        |
      | -1       |
      | 10001    |

  Scenario: Unknown session
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets of a session that does not exist
    Then the request fails with "invalid_session"
    And the message is "Session not found"
    And nothing is held

  Scenario: Unknown ticket type
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets of a type that does not exist
    Then the request fails with "invalid_ticket_type"
    And the message is "Ticket type not found"
    And nothing is held

  Scenario: Get hold status
    Given an active hold for customer "user@example.com"
    When the hold is read
    Then the response shows the hold as it was created
    And the response does not contain "user@example.com"

  Scenario: Hold not found
    When a hold that does not exist is read
    Then the request fails with "hold_not_found"
    And the message is "Hold not found"

  Scenario: Service unavailable
    Given session "concert-123" has available tickets on its own server
    And the database is down
    When a customer requests a hold for 2 tickets
    Then the request fails with "service_unavailable"
    And the message is "Unable to process hold request. Please try again."
    When the database is up again
    And the customer tries again
    Then a hold is created with status "active"
    And 2 tickets are held in total
