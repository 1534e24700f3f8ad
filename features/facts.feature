Feature: Facts
  Every change of a hold, a seat or the catalog is published to the broker, and can be polled. Every
  fact is published at least once, under an id that stays the same, and the facts of one hold in the
  order in which they happened.

  Background:
    Given a server that relays to RabbitMQ

  Scenario: A hold that is created
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    Then a hold.created message arrives, in the words of the event schema
    And the same fact can be polled

  Scenario: A hold that expires
    Given an active hold that expired 1 minute ago
    When the expiry worker has written it down
    Then a hold.expired message arrives, in the words of the event schema
    And the same fact can be polled

  Scenario: One after the other
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And the hold is released
    Then the facts "hold.created, hold.cancelled" are polled, in this order
    And the same facts arrive, in this order

  Scenario: Polling goes on where it ended
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And all facts are polled
    And the hold is released
    Then from there on the facts "hold.cancelled" are polled

  Scenario: Nothing is passed over
    Given session "concert-123" has available tickets
    And a transaction that began earlier, told a fact and is still under way
    When a customer requests a hold for 2 tickets
    Then no fact is polled yet
    When that transaction ends
    Then its fact is polled, and then "hold.created"

  Scenario: Nobody hears of the holds of others
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    Then another organization polls no facts

  Scenario: Whoever stays away for too long is told
    Given session "concert-123" has available tickets
    When a customer requests a hold for 2 tickets
    And all facts are polled
    And a month passes, and old facts are pruned
    Then polling from there on fails with 410 "cursor_expired"
    And polling from the beginning goes well

  Scenario Outline: A cursor that nobody gave
    When facts are polled after "<cursor>"
    Then it fails with 400 "invalid_cursor"

    Examples:
      | cursor                  |
      | abc                     |
      | !!!!!!!!!!!!!!!!!!!!!!  |
      | AAAAAAAAAAAAAAAAAAAAAAA |
      | __________________8     |

  Scenario: An event is cancelled
    Given session "concert-123" has available tickets
    When the organizer cancels the event
    Then an event.changed message arrives: it was "published" and is "cancelled"
