"""windtunnel env: print what a bug report needs."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.wording import byte_size, counted, listed


@click.command("env")
@AS_JSON
def command(as_json: bool) -> None:
    """Print versions, the machine and folders for a bug report.

    The output contains no passwords, host names or user names: of environment variables, only those that
    limit threads are read, and the home folder is written ~.

    \b
    Examples:
      windtunnel env
      windtunnel env --json
    """
    environment = api.describe_environment()
    if as_json:
        print_json(environment.to_json())
        return
    memory = environment.memory_bytes
    cores = counted(environment.cores, "core")
    print_lines(
        Console(),
        [
            ("windtunnel", f"{environment.windtunnel} in {environment.installed_in}"),
            ("python", environment.python),
            ("platform", environment.platform),
            ("cpu", f"{environment.cpu}; {cores}, {environment.usable_cores} usable"),
            ("memory", "unknown" if memory is None else byte_size(memory)),
            ("libraries", listed([f"{name} {version}" for name, version in environment.libraries.items()])),
            *(
                (f"without [{extra}]" if extra else "missing", listed(requirements))
                for extra, requirements in environment.missing.items()
            ),
            *((name, folder) for name, folder in environment.folders.items()),
            ("threads", listed([f"{name}={value}" for name, value in environment.threads.items()])),
        ],
    )
