Feature: Expired holds are released
  The expiry worker expires lapsed holds and releases their tickets. An operator can do the same by
  hand, do a dry run first, and check the integrity of the database afterwards.

  Background:
    Given no expiry worker is running
    And session "concert-123" has available tickets

  Scenario: A dry run shows what would be released and changes nothing
    Given a hold for 2 tickets that expired 1 minute ago
    When the operator does a dry run
    Then the report says "Found 1 lapsed hold(s) with 2 ticket(s)."
    And the report names the hold
    And the hold is not released yet

  Scenario: The operator releases expired holds
    Given a hold for 2 tickets that expired 1 minute ago
    And a hold for 3 tickets that expired 1 minute ago
    When the operator releases expired holds
    Then the report says "Expired 2 hold(s), released 5 ticket(s)."
    And the hold status is "expired"
    And a hold.expired event is published
    And the inventory is available again

  Scenario: A hold whose time is not up is left alone
    Given a hold for 2 tickets that expires in 5 minutes
    When the operator releases expired holds
    Then the report says "Expired 0 hold(s), released 0 ticket(s)."
    And the hold status is "active"

  Scenario: Several expiry workers at once
    Given 20 holds that expired 1 minute ago
    When 3 expiry workers run at once
    Then each hold was expired exactly once

  Scenario: The integrity check finds a hold that was not released
    Given a hold for 2 tickets that expired 10 minutes ago
    When the operator runs the integrity check
    Then the check finds "an active or waiting hold long past its expiry"
    When the operator releases expired holds
    And the operator runs the integrity check
    Then all checks pass
