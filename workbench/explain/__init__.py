"""What an answer depended on: the request is sent again with items left out, and the answers are compared."""
