"""Dated list prices per region, as package data that a file of the user's can replace."""
