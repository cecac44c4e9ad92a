"""The run folder: predictions on disk, written once and scored any number of times.

run.json         schema, recipe, and locations of model and data (written first)
samples.parquet  id, labels, content hash, width, height, format and other columns of every image
groups.parquet   for video frames, the anchor of each (group, sample_id, offset, role)
shards/          one Parquet file per chunk of images, named by a hash of its work
lock             locked while a process writes

Everything else in the folder is derived and may be deleted.
"""
