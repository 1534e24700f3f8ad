Feature: Organizations never see each other
  Many organizations share one Holdfast. For each of them, the others' data does not exist.

  Background:
    Given an active hold for customer "user@example.com"
    And another organization

  Scenario: Another organization's hold cannot be read
    When the other organization reads the hold
    Then the request fails with "hold_not_found"
    And the response is the same as for a hold that does not exist

  Scenario: Another organization's hold cannot be released
    When the other organization releases the hold
    Then the request fails with "hold_not_found"
    And the hold status is "active"

  Scenario: Another organization's holds are in no list
    When the other organization lists the holds of "user@example.com"
    Then the list is empty

  Scenario: Another organization's session cannot be read
    When the other organization reads the session's availability
    Then the request fails with "session_not_found"

  Scenario: Another organization's tickets cannot be held
    When the other organization requests a hold for 2 tickets of that session
    Then the request fails with "invalid_session"
    And the message is "Session not found"
    And 2 tickets are held in total

  Scenario: The same idempotency key in two organizations
    When both organizations hold 1 ticket of their own with the same idempotency key
    Then each has a hold of its own

  Scenario: The same hold id in two organizations
    When the other organization holds 1 ticket of its own with the id of the hold
    Then each has a hold of its own
