Feature: Notices to the customer
  As a customer I want to be notified when my order is confirmed or cancelled, and when my hold is
  about to expire. The order service confirms the payment through the message broker. As an
  organization I want to write the texts myself, and to let my staff send an e-mail again.

  Background:
    Given session "Friday" of event "Concert" has available tickets

  Scenario: Payment success
    Given a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    Then the hold status is "converted"
    And the customer gets an e-mail "Your tickets for Concert"
    And it names the booking reference, "Concert, Friday" and a total of 90.00 EUR
    And it has 2 different codes

  Scenario: The order service repeats itself
    Given a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    And the order service publishes the same message again
    Then there is one order of the hold
    And the customer gets one e-mail

  Scenario: The hold is about to expire
    Given a hold for 2 tickets for customer "user@example.com"
    When the hold has 3 minutes left
    Then the customer gets an e-mail "3 minutes left to pay for 2 tickets for Concert"
    And it names the booking reference, "Concert, Friday" and a total of 90.00 EUR

  Scenario: A warning that would come too late
    Given a hold for 2 tickets for customer "user@example.com"
    When the hold has 1 minutes left
    Then the hold is announced as about to expire
    And the customer gets no e-mail

  Scenario: The event is in another time zone
    Given event "Concert" takes place at "Opera House, Sydney" in "Australia/Sydney"
    And session "Friday" starts at "2030-06-21T10:00:00Z"
    And a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    Then the customer gets an e-mail "Your tickets for Concert"
    And it says "Friday, 21 June 2030, 20:00 AEST"
    And it says "Opera House, Sydney"

  Scenario: The organization has its own text
    Given the organization writes confirmations "Booked: {{ event }}" with the text "{{ ticket_list }}"
    And a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    Then the customer gets an e-mail "Booked: Concert"
    And it has 2 different codes

  Scenario: The customer lost the tickets
    Given a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    And staff send the customer the e-mail again
    Then the customer gets two e-mails with the same codes

  Scenario: The order is cancelled
    Given a hold for 2 tickets for customer "user@example.com"
    When the order service publishes order.confirmed for the hold
    And the order is cancelled because "Ann fell ill"
    Then the customer gets another e-mail "Cancelled: 2 tickets for Concert"
    And it says "Total of the cancelled tickets: 90.00 EUR"
    And it has no codes
    And it does not say "Ann fell ill"

  Scenario: The payment comes too late
    Given a hold for 2 tickets for customer "user@example.com"
    And the hold expired 1 minute ago
    When the order service publishes order.confirmed for the hold
    Then the message becomes a dead letter
    And the hold status is "expired"
    And the customer gets no e-mail

  Scenario: A customer without an e-mail address
    Given a hold for 2 tickets for user "user-42"
    When the order service publishes order.confirmed for the hold
    Then the hold status is "converted"
    And the customer gets no e-mail
