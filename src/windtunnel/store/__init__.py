"""The run folder: predictions on disk, written once, read for ever.

run.json         schema, the whole recipe, where model and data lay (written first)
samples.parquet  id, labels, content hash, width, height, format and other columns of every image
groups.parquet   of video frames: which belong to which anchor (group, sample_id, offset, role)
shards/          one Parquet file per chunk of images, named by a hash of its work
lock             held while a process writes

Everything else in the folder is derived and may be deleted.
"""
