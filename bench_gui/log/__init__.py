"""Log of messages with their times, and of unread faults."""
