Feature: Audit
  The audit records who did what to which hold, and from where: for compliance, troubleshooting and
  disputes. Nobody can change it afterwards.

  Scenario: The life of a hold
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes
    And the order is confirmed
    Then the audit of the hold shows "hold.created, hold.extended, hold.converted"
    And every entry names the actor, the request and the address it came from
    And no entry contains "user@example.com"

  Scenario: A refused attempt
    Given an active hold for customer "user@example.com"
    When the hold is released
    And the order is confirmed
    Then the audit of the hold shows "hold.created, hold.cancelled, hold.convert_failed"

  Scenario: An operator's action
    Given an active hold for customer "user@example.com"
    When an operator extends the hold by 15 minutes
    Then the audit of the hold shows "hold.created, hold.extended"
    And the last entry shows that an operator did it

  Scenario: The expiry worker's action
    Given an active hold that expired 1 minute ago
    When the expiry worker runs
    Then the audit of the hold shows "hold.created, hold.expired"
    And the last entry is not from the platform's key

  Scenario: The audit is immutable
    Given an active hold for customer "user@example.com"
    Then the audit cannot be changed, not even by the owner of the database
