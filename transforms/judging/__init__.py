"""What judged criteria ask of a model, and the ways to one."""
