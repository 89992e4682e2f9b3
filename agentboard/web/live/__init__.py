"""Open pages that hear of changes: a websocket that carries ids and versions, and the same by asking again."""
