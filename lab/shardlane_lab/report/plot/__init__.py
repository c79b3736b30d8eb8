"""Plots as inline SVG that follows the page's colours and fonts."""
