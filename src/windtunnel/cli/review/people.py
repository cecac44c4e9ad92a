"""windtunnel review people: personal links."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_table
from windtunnel.cli.review_database import DATABASE
from windtunnel.core.errors import UserError

DEFAULT_ADDRESS = "http://127.0.0.1:8765"


@click.command("people", short_help="Add people and print their personal links, or list them.")
@click.argument("project")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--owner", is_flag=True, help="The people may see progress, decide conflicts and export.")
@click.option("--renew", is_flag=True, help="New links for people who exist; the old ones end.")
@click.option("--revoke", is_flag=True, help="End the links of people; their verdicts stay.")
@click.option(
    "--address",
    metavar="URL",
    default=DEFAULT_ADDRESS,
    show_default=True,
    help="Where the server is reached.",
)
@DATABASE
@AS_JSON
def command(
    project: str,
    names: tuple[str, ...],
    owner: bool,
    renew: bool,
    revoke: bool,
    address: str,
    database: str | None,
    as_json: bool,
) -> None:
    """Add people to the review of PROJECT; without names, list them.

    A link is printed once: only its hash is stored. Whoever has the link is that person; send it privately.

    \b
    Examples:
      windtunnel review people birds Ann Bob Cid
      windtunnel review people birds Olga --owner
      windtunnel review people birds Ann --renew
    """
    if renew + revoke + owner > 1:
        raise UserError("--owner, --renew and --revoke exclude each other; give one.")
    if (renew or revoke or owner) and not names:
        raise UserError("No name is given; name the people, as in windtunnel review people PROJECT Ann.")
    rows = []
    with api.open_review(project, database, create=bool(names) and not (renew or revoke)) as review:
        if not names:
            rows = [{"name": person.name, "role": person.role} for person in review.people()]
        for name in names:
            if revoke:
                person = review.revoke_link(name)
                rows.append({"name": person.name, "role": person.role, "link": "revoked"})
                continue
            adding = not renew
            person, secret = (
                review.add_person(name, "owner" if owner else "reviewer")
                if adding
                else review.renew_link(name)
            )
            link = f"{address.rstrip('/')}/join#{secret}"
            rows.append({"name": person.name, "role": person.role, "link": link})
    if as_json:
        print_json(rows)
    elif rows:
        print_table(Console(), list(rows[0]), [list(row.values()) for row in rows])
    else:
        click.echo(f"Nobody yet; add people with windtunnel review people {project} NAME.")
