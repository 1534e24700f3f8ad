Feature: Personal data
  Addresses are stored encrypted, can be found by anyone who knows them, and are erased when their
  owner asks. Sold tickets stay sold.

  Background:
    Given session "concert-123" has available tickets

  Scenario: A buyer is forgotten
    Given "ada@example.com" has bought 2 tickets for "Ada Lovelace"
    When the platform forgets "ada@example.com"
    Then 1 hold, 1 order and 1 ticket were erased
    And no hold, order or audit entry is found by "ada@example.com"
    And the order still has 2 tickets, without a name
    And nothing in the database contains "ada@example.com" or "Ada Lovelace"

  Scenario: A person with an open hold cannot be forgotten yet
    Given "ada@example.com" holds 2 tickets
    When the platform forgets "ada@example.com"
    Then the request fails with "holds_still_open"
    And the open hold is named
    When the hold is released
    And the platform forgets "ada@example.com"
    Then 1 hold, 0 orders and 0 tickets were erased

  Scenario: Forgetting a person affects nobody else
    Given "ada@example.com" has bought 2 tickets for "Ada Lovelace"
    And "ada@example.com" has bought 1 ticket of another organization
    When the platform forgets "grace@example.com"
    Then 0 holds, 0 orders and 0 tickets were erased
    When the platform forgets "ada@example.com"
    Then the other organization still finds the order of "ada@example.com"

  Scenario: The audit log records the erasure without naming the person
    Given "ada@example.com" has bought 2 tickets for "Ada Lovelace"
    When the platform forgets "ada@example.com"
    And the platform forgets "ada@example.com"
    Then 0 holds, 0 orders and 0 tickets were erased
    And the audit log says twice that somebody was forgotten
