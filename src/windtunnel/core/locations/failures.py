"""Errors of stores, reported in one line each: what was given, what is wrong, what to do."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from windtunnel.core.errors import ImageError, RunFailed, UserError, first_line
from windtunnel.core.extras import install, load_extra

if TYPE_CHECKING:
    import asyncio

# Libraries name the exception for missing credentials in their own way: NoCredentialsError,
# DefaultCredentialsError, ClientAuthenticationError.
_NO_CREDENTIALS = re.compile(r"Credential|Authentication")
_QUERY = re.compile(r"\?\S*")
# Exceptions that callers expect of files.
_OF_FILES = (FileExistsError, IsADirectoryError, NotADirectoryError)


def filesystem(scheme: str) -> Any:
    """The fsspec file system of a scheme in this process; refuses unknown schemes and missing packages."""
    if scheme in ("s3", "s3a"):
        load_extra("s3fs", f"A URL of {scheme}://")
    fsspec = load_extra("fsspec", f"A URL of {scheme}://")
    try:
        # fsspec keeps one instance per process; listings are remembered by `Listing` alone.
        store = fsspec.filesystem(scheme, use_listings_cache=False)
    except ValueError as error:
        raise UserError(
            f"Unknown scheme {scheme}://; give a local path, or a URL that fsspec knows, such as s3://, "
            "gs://, hf:// or https://."
        ) from error
    except ImportError as error:
        cause = error.__cause__ or error.__context__ or error
        library = getattr(cause, "name", None) or f"fsspec[{scheme}]"
        raise UserError(
            f"A URL of {scheme}:// needs {library}, which is not installed: {install(library)}."
        ) from error
    if store.async_impl:
        store.loop.set_exception_handler(_without_lost_connections)
    return store


def _without_lost_connections(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report errors in background tasks, except of connections: the request itself has failed with them."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


@contextmanager
def reporting_failures(url: str) -> Iterator[None]:
    """Turn errors of a store into UserError or RunFailed; those about single files stay what they are.

    A store that cannot be reached is a RunFailed and never an unreadable image: the same command continues.
    """
    try:
        yield
    except (UserError, RunFailed, ImageError, *_OF_FILES):
        raise
    except FileNotFoundError as error:
        if type(error.__cause__).__name__ == "NoSuchBucket":
            raise UserError(
                f"The bucket of {url} does not exist; create it, or correct the URL or the endpoint."
            ) from error
        raise FileNotFoundError(errno.ENOENT, "no such file", url) from error
    except NotImplementedError as error:
        raise UserError(f"{url} cannot be written: this kind of store is read-only; give another.") from error
    except Exception as error:  # every store has exceptions of its own
        raise _failure(url, error) from error


def _failure(url: str, error: Exception) -> Exception:
    scheme = url.partition("://")[0]
    if isinstance(error, PermissionError):
        return UserError(
            f"{url}: the store denies access ({_reason(error)}); check the credentials in the environment "
            "and what they permit."
        )
    if _NO_CREDENTIALS.search(type(error).__name__):
        return UserError(
            f"{url}: no credentials for {scheme}:// were found; set them in the environment, such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3:// (FSSPEC_S3_ANON=true for public buckets)."
        )
    if isinstance(error, OSError) and error.errno == errno.EINVAL:
        return UserError(f"{url}: the store refuses the request ({_reason(error)}); correct the URL.")
    return RunFailed(f"{url} cannot be reached ({_reason(error)}); check the network and the endpoint")


def _reason(error: Exception) -> str:
    """Class and first line of an error, without query strings: they may contain signatures."""
    return f"{type(error).__name__}: {_QUERY.sub('', first_line(error))}"
