"""What is known of remote files: sizes, versions and folders, each asked for once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from windtunnel.core.locations.failures import filesystem, reporting_failures

# What distinguishes two versions of a file, by the names that stores give it, the most exact first. Listings
# and single requests have the same value of these, other than of times.
_VERSIONS = ("ETag", "etag", "md5Hash", "blob_id", "Content-MD5", "Digest", "content_hash")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "mtime", "created", "modified")


@dataclass(frozen=True)
class Version:
    """One version of a remote file: its size in bytes, and what distinguishes it from others."""

    size: int
    tag: str


@dataclass(frozen=True)
class RemoteEntry:
    """A file or folder in a remote folder."""

    name: str
    folder: bool

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.folder

    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.folder


class Catalogue(Protocol):
    """What is known of the files of one scheme."""

    def version(self, scheme: str, key: str) -> Version:
        """The version of a file; raises FileNotFoundError or IsADirectoryError."""
        ...

    def is_folder(self, scheme: str, key: str) -> bool:
        """Whether there is such a folder: in an object store, whether a key begins with its name."""
        ...

    def children(self, scheme: str, key: str) -> Mapping[str, bool]:
        """The names in a folder, with whether each is a folder; raises FileNotFoundError for no folder."""
        ...


class Live:
    """A catalogue that asks the store every time: for folders that are written to."""

    def version(self, scheme: str, key: str) -> Version:
        """The version of a file now."""
        return _version(scheme, key, _info(scheme, key))

    def is_folder(self, scheme: str, key: str) -> bool:
        """Whether there is such a folder now."""
        try:
            return bool(_info(scheme, key)["type"] == "directory")
        except FileNotFoundError:
            return False

    def children(self, scheme: str, key: str) -> Mapping[str, bool]:
        """The names in a folder now."""
        with reporting_failures(f"{scheme}://{key}"):
            store = filesystem(scheme)
            found = store.ls(store._strip_protocol(f"{scheme}://{key}"), detail=True)
        named = ((info["name"].rstrip("/").rsplit("/", 1)[-1], info) for info in found)
        return {name: info["type"] == "directory" for name, info in named if name}


@dataclass
class Listing:
    """A catalogue of a dataset: a folder is listed once, with everything below it.

    It is sent to worker processes with the dataset, so that they read the same versions and ask nothing
    again.
    """

    versions: dict[str, Version | None] = field(default_factory=dict)  # None for folders and missing files
    folders: dict[str, dict[str, bool]] = field(default_factory=dict)

    def version(self, scheme: str, key: str) -> Version:
        """The version of a file when it was first asked for."""
        if key in self.folders:
            raise IsADirectoryError(f"{scheme}://{key}")
        if key not in self.versions and key.rpartition("/")[0] not in self.folders:
            try:
                info = _info(scheme, key)
                self.versions[key] = _version(scheme, key, info) if info["type"] == "file" else None
            except FileNotFoundError:
                self.versions[key] = None
        version = self.versions.get(key)
        if version is None:
            raise FileNotFoundError(2, "no such file", f"{scheme}://{key}")
        return version

    def is_folder(self, scheme: str, key: str) -> bool:
        """Whether there was such a folder when it was first asked for."""
        try:
            self.children(scheme, key)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def children(self, scheme: str, key: str) -> Mapping[str, bool]:
        """The names in a folder when it was first asked for."""
        if key not in self.folders:
            if self.versions.get(key) is not None or key.rpartition("/")[0] in self.folders:
                raise NotADirectoryError(f"{scheme}://{key}")
            self._list(scheme, key)
        return self.folders[key]

    def _list(self, scheme: str, root: str) -> None:
        url = f"{scheme}://{root}"
        if _info(scheme, root)["type"] != "directory":
            raise NotADirectoryError(url)
        with reporting_failures(url):
            store = filesystem(scheme)
            top = store._strip_protocol(url).rstrip("/")
            found = store.find(top, detail=True)
        self.folders.setdefault(root, {})
        for name, info in found.items():
            if info["type"] == "directory" or name.endswith("/"):  # an object that marks a folder
                continue
            key = f"{root}/{name[len(top) :].strip('/')}"
            self.versions[key] = _version(scheme, key, info)
            is_folder = False
            while key != root:
                key, _, child = key.rpartition("/")
                known = self.folders.setdefault(key, {})
                if child in known:
                    break
                known[child] = is_folder
                is_folder = True


def _info(scheme: str, key: str) -> dict[str, Any]:
    url = f"{scheme}://{key}"
    with reporting_failures(url):
        store = filesystem(scheme)
        info: dict[str, Any] = store.info(store._strip_protocol(url))
        return info


def _version(scheme: str, key: str, info: Mapping[str, Any]) -> Version:
    if info["type"] == "directory":
        raise IsADirectoryError(f"{scheme}://{key}")
    size = info.get("size")
    if size is None:
        raise OSError(f"{scheme}://{key}: the server does not state the size of the file")
    tag = next((info[name] for name in (*_VERSIONS, *_TIMES) if info.get(name)), None)
    if isinstance(tag, datetime):
        tag = tag.timestamp()
    # Without any version, a cached copy is of no use to later processes: the file may have changed.
    return Version(int(size), str(tag or uuid.uuid4()).strip('"'))
