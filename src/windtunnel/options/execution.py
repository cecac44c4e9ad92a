"""The help texts of options about where work is done, which several records share."""

EXECUTOR_HELP = (
    "Where the work is done, as windtunnel list executors names it; default: processes, or this process for "
    "one worker."
)
ADDRESS_HELP = "The cluster for an executor that takes one; default: one on this machine, for this command."
