"""Routes of owners: progress, agreement, the second pass."""

from __future__ import annotations

from fastapi import APIRouter

from windtunnel import api
from windtunnel.web.safety import Audit
from windtunnel.web.signed_in import SignedIn


def owner_routes(review: api.Review, signed_in: SignedIn, audit: Audit) -> APIRouter:
    """The routes of a review's owners."""
    return APIRouter(prefix="/api/owner")
