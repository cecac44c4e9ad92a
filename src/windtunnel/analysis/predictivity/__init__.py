"""Predictivity: how well accuracy drops on one benchmark predict those on another, over many models."""
