"""Notifications about files that change."""
