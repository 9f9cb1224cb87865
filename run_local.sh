#!/usr/bin/env bash
# turnwise on this machine: its own environment, then one of
#   ./run_local.sh            score the bundled sample conversations, and write a report of them
#   ./run_local.sh stream     score them as they arrive, one by one over half a minute
#   ./run_local.sh run ...    turnwise run ... (see ./run_local.sh run --help)
#   ./run_local.sh test       lint, types and tests
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

env=.venv
python=${PYTHON:-python3}

install() {
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# Writes a mark whole, so that one broken off is none.
mark() {
  echo "$2" > "$env/$1.new"
  mv "$env/$1.new" "$env/$1"
}

marked() {
  [ "$(cat "$env/$1" 2> /dev/null)" = "$2" ]
}

prepare() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "turnwise needs Python 3.11 or later ($python is $("$python" --version 2>&1)); set PYTHON" >&2
    exit 2
  }
  local base
  base="$("$python" --version) $(cksum < requirements.lock)"
  if ! marked .prepared "$base"; then
    echo "preparing $env (once; about a minute) ..." >&2
    "$python" -m venv --clear "$env"
    install -r requirements.lock
    mark .prepared "$base"
  fi
}

# Adds what only the tests need; begins anew where another lock file was installed.
prepare_tests() {
  local tests
  tests=$(cat requirements-test.lock requirements-beside.lock | cksum)
  marked .tests "$tests" && return
  [ ! -e "$env/.tests" ] || { rm "$env/.prepared"; prepare; }
  echo "adding what the tests need (once; about two minutes) ..." >&2
  install -r requirements-test.lock
  install --no-deps --target "$env/beside" -r requirements-beside.lock
  mark .tests "$tests"
}

# Installs what tests use beside Python, where apt may: install_for_tests "its tests" package ...
install_for_tests() {
  local tests=$1
  shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "$* are not installed: $tests are skipped" >&2
    return
  fi
  echo "installing $* (once) ..." >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } \
    > /dev/null 2>&1 < /dev/null ||
    echo "$* cannot be installed: $tests are skipped" >&2
}

# Installs the browser that shows reports, and the server that holds stores. A server that Debian's package
# starts is not used: the tests start one of their own, in a directory of its own.
install_services() {
  command -v chromium > /dev/null && command -v chromedriver > /dev/null ||
    install_for_tests "tests of the report's page" chromium chromium-driver
  { compgen -G "/usr/lib/postgresql/*/bin/initdb" || command -v initdb; } > /dev/null ||
    install_for_tests "tests of stores in PostgreSQL" postgresql
}

# Installs turnwise itself, again when its entry points or packages may have changed.
install_project() {
  local project
  project=$(cksum < pyproject.toml)
  marked .project "$project" && return
  install --no-deps -e .
  mark .project "$project"
}

data=pipeline/sample_data

score() {
  "$env/bin/turnwise" run --eval_cases $data/cases --config $data/config.json --judge local --overwrite "$@"
}

# Puts files and lines into a directory one by one, over half a minute.
drop() {
  local file line
  sleep 3
  for file in "$1"/*.json; do
    cp "$file" "$2/.${file##*/}" && mv "$2/.${file##*/}" "$2/${file##*/}"
    sleep 1
  done
  for file in "$1"/*.jsonl; do
    while IFS= read -r line || [ -n "$line" ]; do
      printf '%s\n' "$line" >> "$2/${file##*/}"
      sleep 0.55
    done < "$file"
  done
}

stream() {
  rm -rf out/arriving
  mkdir -p out/arriving
  drop $data/conversations out/arriving &
  trap "kill $! 2> /dev/null || true" EXIT
  score --streaming --input out/arriving --output out/stream --pane_every 2 --allowed_lateness 31536000 \
    --stop_after 60 --max_run_time 120
}

run_tests() {
  local workers status=0
  "$env/bin/ruff" check .
  "$env/bin/ruff" format --check .
  "$env/bin/mypy" > "$env/types.log" 2>&1 &  # needs one processor only, so tests run meanwhile
  trap "kill $! 2> /dev/null || true" EXIT
  unset PYTHONDONTWRITEBYTECODE  # the processes that tests start would each compile everything
  # More workers than processors, because some tests wait.
  workers=$("$env/bin/python" -c 'import os; print(2 * (os.cpu_count() or 1))')
  "$env/bin/python" -m pytest -n "$workers" --dist loadfile --no-loadscope-reorder "$@" || status=$?
  wait $! || status=$?
  cat "$env/types.log"
  return $status
}

prepare
[ "${1:-}" != test ] || { prepare_tests; install_services; }
install_project
case "${1:-}" in
  "") score --input $data/conversations --output out/sample; "$env/bin/turnwise" report out/sample ;;
  stream) stream ;;
  test) shift; run_tests "$@" ;;
  *) turnwise=$PWD/$env/bin/turnwise; cd "$caller"; exec "$turnwise" "$@" ;;
esac
