"""The connection doctor: how far each app came on its way to connect, and why it stopped."""
