"""Who makes a request: the person of its session cookie."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from windtunnel import api
from windtunnel.web.errors import client_address
from windtunnel.web.safety import Audit, Rate

# The code of the person for whom a page was opened; a post of somebody else's page is refused.
PERSON_HEADER = "x-windtunnel-person"


def cookie_name(request: Request) -> str:
    """The name of the session cookie: browsers share cookies between the ports of a host."""
    port = (request.scope.get("server") or ("", 0))[1]
    return f"windtunnel_review_{port}"


class SignedIn:
    """Returns the signed-in person of a request; refuses everybody else, and too many requests."""

    def __init__(self, review: api.Review, audit: Audit, rate: Rate) -> None:
        self._review, self._audit, self._rate = review, audit, rate

    def __call__(self, request: Request) -> api.Person:
        """The person of a request."""
        session = request.cookies.get(cookie_name(request), "")
        person = self._review.session_person(session) if session else None
        address = client_address(request)
        if person is None:
            self._audit.refused(address, request.method, request.url.path, 401, "not signed in")
            raise HTTPException(401, "Open your personal link first.")
        self.check_rate(request, person)
        if request.method == "POST" and request.headers.get(PERSON_HEADER, person.code) != person.code:
            self._audit.refused(
                address, request.method, request.url.path, 409, f"a page of another person than {person.name}"
            )
            raise HTTPException(
                409, f"{person.name} has signed in in this browser; open your own link again to go on."
            )
        return person

    def check_rate(self, request: Request, person: api.Person) -> None:
        """Refuse one request more than a person may make."""
        if not self._rate.allows(person.code):
            address = client_address(request)
            self._audit.refused(address, request.method, request.url.path, 429, f"too fast: {person.name}")
            raise HTTPException(429, "Too many requests; wait a second.", {"retry-after": "1"})

    def owner(self, request: Request) -> api.Person:
        """The person of a request, who is an owner."""
        person = self(request)
        if person.role != "owner":
            self._audit.refused(
                client_address(request), request.method, request.url.path, 403, f"not an owner: {person.name}"
            )
            raise HTTPException(403, "Only the owner of the review may see this.")
        return person

    def task(self, name: str) -> api.Task:
        """The task of that name; refuses an unknown one."""
        found = self._review.tasks().get(name)
        if found is None:
            raise HTTPException(404, "There is no such task.")
        return found


def _person(request: Request) -> api.Person:
    signed_in: SignedIn = request.app.state.signed_in
    return signed_in(request)


def _owner(request: Request) -> api.Person:
    signed_in: SignedIn = request.app.state.signed_in
    return signed_in.owner(request)


# The person of a request, as a parameter of routes.
Reviewer = Annotated[api.Person, Depends(_person)]
Owner = Annotated[api.Person, Depends(_owner)]
