Feature: People
  The staff of an organization log in with their own accounts. A role determines what each of them
  may do in the admin pages and on the API, and every change is in the audit log.

  Scenario: A member signs in and acts on the API
    Given a member with the role "support"
    When the member signs in
    Then the session can read holds
    And the session cannot create an event
    And the audit shows the log-in by the member

  Scenario: A wrong password does not sign anybody in
    Given a member with the role "support"
    When the member signs in with a wrong password
    Then the request fails with "unauthorized"
    And the audit shows the failed log-in of the member

  Scenario: A session ends after 30 minutes without a call
    Given a member with the role "viewer"
    And the member has signed in
    When the session has not been used for 31 minutes
    Then no server accepts the session

  Scenario: A session ends after 8 hours
    Given a member with the role "viewer"
    And the member has signed in
    When the session is 8 hours old
    Then no server accepts the session

  Scenario: Removing a member ends their sessions at once
    Given a member with the role "support"
    And the member has signed in and used the session on every server
    When the member is removed
    Then no server accepts the session

  Scenario: A new role takes effect at once
    Given a member with the role "manager"
    And the member has signed in and used the session on every server
    When the member becomes a "viewer"
    Then no server lets the session create an event

  Scenario: Deactivating an account ends its sessions at once
    Given a member with the role "support"
    And the member has signed in and used the session on every server
    When the account is deactivated
    Then no server accepts the session

  Scenario: Signing out
    Given a member with the role "support"
    And the member has signed in and used the session on every server
    When the member signs out
    Then no server accepts the session

  Scenario: The last owner cannot be removed or change roles
    Given a member with the role "owner"
    When the member is removed over the API
    Then the request fails with "last_owner"
    When the member becomes a "viewer" over the API
    Then the request fails with "last_owner"

  Scenario: Nobody can grant more than they have
    Given a key with the scopes "members:write, holds:read"
    When that key adds a member with the role "owner"
    Then the request fails with "scope_not_held"
    And nobody was added

  Scenario: A platform names the member of its own staff who acted
    When the platform releases a hold on behalf of "clerk-17"
    Then the request succeeds
    When the platform releases a hold on behalf of a name with a line break
    Then the request fails with "invalid_acting_user"

  Scenario: Five wrong passwords lock a name out, on the API and in the admin pages alike
    Given a member with the role "support"
    When the member signs in with a wrong password 5 times
    Then the request fails with "too_many_requests"
    And the admin pages refuse the right password, too
