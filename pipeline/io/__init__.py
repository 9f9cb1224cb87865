"""Sources and sinks: files, stores and the formats of their rows."""
