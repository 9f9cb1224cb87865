"""Lists of messages of model APIs and frameworks, and requests with their replies."""
