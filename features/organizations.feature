Feature: Organizations never see each other
  Many organizations share one Holdfast. What is another's looks exactly like what does not exist.

  Background:
    Given an active hold for customer "user@example.com"
    And another organization

  Scenario: Another's hold cannot be read
    When the other organization reads the hold
    Then the request fails with "hold_not_found"
    And the answer is the one for a hold that does not exist

  Scenario: Another's hold cannot be released
    When the other organization releases the hold
    Then the request fails with "hold_not_found"
    And the hold status is "active"

  Scenario: Another's holds are in no list
    When the other organization lists the holds of "user@example.com"
    Then the list is empty

  Scenario: Another's session cannot be looked at
    When the other organization asks what the session has left
    Then the request fails with "session_not_found"

  Scenario: Another's tickets cannot be held
    When the other organization requests a hold for 2 tickets of that session
    Then the request fails with "invalid_session"
    And the message is "Session not found"
    And 2 tickets are held in all

  Scenario: The same idempotency key in two organizations
    When both organizations hold 1 ticket of their own with the same idempotency key
    Then each has a hold of its own

  Scenario: The same hold id in two organizations
    When the other organization holds 1 ticket of its own with the id of the hold
    Then each has a hold of its own
