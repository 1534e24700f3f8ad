Feature: Holder tokens
  A buyer's browser must not have a secret key. The platform's server gives it a holder token, with
  which it can view the sale, hold and check out, for this buyer only, by default for half an hour.

  Scenario: A buyer holds with a token
    Given a token for the user "ada"
    When the browser holds 2 tickets
    Then the hold belongs to the user "ada"
    And the browser can read, extend and release its hold

  Scenario: The token says who the buyer is
    Given a token for the user "ada"
    When the browser holds 2 tickets as the user "grace"
    Then the request fails with "holder_from_token"
    And nothing is held

  Scenario: A browser cannot set a price
    Given a token for the user "ada"
    When the browser holds 2 tickets for 1 cent each
    Then the request fails with "secret_key_required"
    And nothing is held

  Scenario: Another buyer's hold looks unknown
    Given the platform holds 2 tickets for the user "grace"
    And a token for the user "ada"
    Then the browser cannot see, extend, release or check out that hold
    And the hold of "grace" is unchanged

  Scenario: A token for one event
    Given another event on sale
    And a token for the user "ada", limited to the first event
    Then the browser sees only the first event
    And the browser cannot hold a ticket of the other event

  Scenario: A browser cannot say that it has paid
    Given a token for the user "ada"
    And the browser has started a checkout of 2 tickets
    When the browser completes the checkout
    Then the request fails with "secret_key_required"
    And the platform can complete the checkout

  Scenario: A token expires
    Given a token for the user "ada" with 4 seconds left
    And the token has been used on every server
    When its time is over
    Then no server accepts the token

  Scenario: The platform revokes the tokens of a buyer
    Given a token for the user "ada"
    And the token has been used on every server
    When the platform revokes the tokens of "ada"
    Then no server accepts the token
    And a new token for "ada" works on every server
    And the token of the user "grace" works on every server

  Scenario: A token ends with the key that issued it
    Given a token for the user "ada" from a key of its own
    And the token has been used on every server
    When that key is revoked
    Then no server accepts the token

  Scenario: A retry with a renewed token
    Given a token for the user "ada"
    When the browser holds 2 tickets with the idempotency key "click-1"
    And the browser gets a new token for "ada"
    And the browser holds 2 tickets with the idempotency key "click-1"
    Then both answers are the same
    And 2 tickets are held

  Scenario: An organization decides whether buyers can be anonymous
    When the platform asks for a token without a holder
    Then the request fails with "anonymous_holders_off"
    When the platform turns on anonymous holders
    And the platform asks for a token without a holder
    Then the browser can hold tickets with it
