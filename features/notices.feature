Feature: Notices to the customer
  As a customer I want to be notified when my order is confirmed, and when my hold is about to
  expire. The order service confirms the payment through the message broker.

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
    When the hold has less than a minute left
    Then the customer gets an e-mail that ends with "left to pay for your tickets for Concert"
    And it names the booking reference, "Concert, Friday" and a total of 90.00 EUR

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
