Feature: API keys
  A platform gives each of its programs its own key, with only the scopes it needs. A leaked key is
  replaced without downtime, or revoked at once.

  Scenario: A key for one program
    When the platform creates a key for "scanner" with the scopes "holds, facts:read"
    Then the new key can read holds
    And the new key cannot create an event
    And the secret is shown only in the response that created the key

  Scenario: A key cannot grant scopes that it does not have
    Given a key with the scopes "keys:write, holds:read"
    When that key creates a key with the scopes "holds:write"
    Then the request fails with "scope_not_held"
    And no key was created

  Scenario: A key cannot gain scopes by rotating another key
    Given a key with the scopes "keys:write, holds:read"
    When that key rotates the platform's own key
    Then the request fails with "scope_not_held"
    And the platform's own key still works

  Scenario: A rotated key works until the overlap ends
    Given a key with the scopes "holds:read"
    When the key is rotated with an overlap of 1 hour
    Then the old key and the new key both work
    When the overlap ends
    Then only the new key works

  Scenario: A revoked key stops working at once
    Given a key with the scopes "holds:read"
    And the key has been used on every server
    When the key is revoked
    Then no server accepts the key

  Scenario: A key that expires
    Given a key with the scopes "holds:read" that expires in 1 hour
    Then the key works
    When the hour has passed
    Then no server accepts the key

  Scenario: Test keys and live keys see different data
    Given an organization with a test key and a live key
    When the test key puts an event on sale
    Then the live key does not find the event
    And the live key cannot hold tickets for it

  Scenario: Every change to a key is in the audit log
    Given a key with the scopes "holds:read"
    When the key is rotated with an overlap of 1 hour
    And the key is revoked
    Then the audit shows "key.created, key.rotated, key.revoked"
    And no entry contains a secret
