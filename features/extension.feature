Feature: Extending a hold
  A customer who needs more time gets it, as far as the policy allows. Only the holder can extend a
  hold; an operator may exceed the policy.

  Scenario: Five minutes more
    Given an active hold for customer "user@example.com"
    When "user@example.com" extends the hold by 5 minutes
    Then the hold expires 5 minutes later than before
    And a hold.extended event is published with the new expiry

  Scenario: Twenty minutes is the maximum
    Given an active hold for customer "user@example.com"
    When "user@example.com" extends the hold by 60 minutes
    Then the hold lasts 20 minutes in total
    When "user@example.com" extends the hold by 1 minute
    Then the request fails with "extension_limit_reached"
    And the hold lasts 20 minutes in total

  Scenario: Another customer cannot extend the hold
    Given an active hold for customer "user@example.com"
    When "stranger@example.com" extends the hold by 5 minutes
    Then the request fails with "hold_not_found"
    And the hold lasts 10 minutes in total

  Scenario: An operator may exceed the policy
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes
    And an operator extends the hold by 15 minutes
    Then the hold lasts 40 minutes in total

  Scenario: An expired hold stays expired
    Given an active hold that expired 1 minute ago
    When an operator extends the hold by 15 minutes
    Then the request fails with "hold_expired"
    And the message is "The hold has expired"
    And the hold status is "expired"

  Scenario: A released hold stays released
    Given an active hold for customer "user@example.com"
    When the hold is released
    And an operator extends the hold by 15 minutes
    Then the request fails with "invalid_hold_state"

  Scenario: The request is sent twice
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes with an idempotency key
    And the same request is sent again
    Then both responses are the same
    And the hold lasts 25 minutes in total
