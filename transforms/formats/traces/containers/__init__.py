"""Where spans stand in files and exports: one module a container."""
