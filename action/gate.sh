#!/usr/bin/env bash
# Run `windtunnel gate` with the inputs of action.yml, which arrive as environment variables.
# Builds of packages do not see the token.
set -euo pipefail

case "${WINDTUNNEL_INSTALL:-}" in
  "") ;;
  action) env -u GITHUB_TOKEN python -m pip install --quiet "$GITHUB_ACTION_PATH" ;;
  *) env -u GITHUB_TOKEN python -m pip install --quiet "$WINDTUNNEL_INSTALL" ;;
esac

arguments=(--against "$WINDTUNNEL_AGAINST" --unsure "${WINDTUNNEL_UNSURE:-pass}" --github --summary)
while IFS= read -r rule; do
  if [[ -n "${rule//[[:space:]]/}" ]]; then
    arguments+=(--rule "$rule")
  fi
done <<<"${WINDTUNNEL_RULES:-}"
if [[ -n "${WINDTUNNEL_JUNIT:-}" ]]; then
  arguments+=(--junit "$WINDTUNNEL_JUNIT")
fi
if [[ "${WINDTUNNEL_COMMENT:-false}" == true ]]; then
  arguments+=(--comment --comment-name "${WINDTUNNEL_NAME:-gate}")
fi
exec windtunnel gate "${arguments[@]}" -- "$WINDTUNNEL_RUN"
