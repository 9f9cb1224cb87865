"""Extension points: registries of what can be added, and plugins that add to them."""
