"""The poison figure: what one record that cannot be handled does to the other keys."""
