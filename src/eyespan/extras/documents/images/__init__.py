"""Drawings: SVG and other images that are text."""
