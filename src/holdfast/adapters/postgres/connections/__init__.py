"""Connections: what errors mean, the watchdog, health and logins."""
