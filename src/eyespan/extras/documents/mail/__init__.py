"""Mails, mailboxes and Outlook messages."""
