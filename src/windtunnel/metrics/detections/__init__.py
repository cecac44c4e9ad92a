"""Scores of detections: matches with annotated objects, and average precision of weighted images."""
