Feature: Facts
  Every change of a hold is published to the broker and can be polled. Every fact is published at
  least once, always with the same id, and the facts of a hold in the order in which they happened.

  Background:
    Given a server that relays to RabbitMQ

  Scenario: A hold is created
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    Then a hold.created message arrives, as the event schema requires
    And the same fact can be polled

  Scenario: A hold expires
    Given an active hold that expired 1 minute ago
    When the expiry worker has recorded it
    Then a hold.expired message arrives, as the event schema requires
    And the same fact can be polled

  Scenario: Facts are in order
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And the hold is released
    Then polling returns "hold.created, hold.cancelled" in this order
    And the same facts arrive, in this order

  Scenario: Polling continues where it ended
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And all facts are polled
    And the hold is released
    Then polling from there returns "hold.cancelled"

  Scenario: No fact is skipped
    Given session "concert-123" has available tickets
    And an earlier transaction that has written a fact and is still open
    When a customer requests a hold for 2 tickets
    Then polling returns no facts yet
    When that transaction ends
    Then polling returns its fact, and then "hold.created"

  Scenario: Facts of other organizations are hidden
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    Then another organization sees no facts

  Scenario: A cursor that is too old
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And all facts are polled
    And a month passes, and old facts are pruned
    Then polling from there fails with 410 "cursor_expired"
    And polling from the beginning works

  Scenario Outline: An invalid cursor
    When facts are polled after "<cursor>"
    Then it fails with 400 "invalid_cursor"

    Examples:
      | cursor                  |
      | abc                     |
      | !!!!!!!!!!!!!!!!!!!!!!  |
      | AAAAAAAAAAAAAAAAAAAAAAA |
      | __________________8     |
