"""The server that agents ask about their own context: the Model Context Protocol over standard input and output."""
