"""Long-running operations: the threads that do them, and the methods that tell of them."""
