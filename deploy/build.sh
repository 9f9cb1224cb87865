#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile, and makes a Dataflow Flex Template of it where a file for that is named:
#   deploy/build.sh IMAGE [gs://BUCKET/turnwise.json]
# BUILDER names the program that builds (default: docker, buildah or podman, what is found first);
# BUILD_OPTIONS are passed to it, for example "--build-arg PYTHON=3.12".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=${1:?"usage: deploy/build.sh IMAGE [gs://BUCKET/turnwise.json]"}
template=${2:-}

found=$(command -v docker || command -v buildah || command -v podman || true)
builder=${BUILDER:-$found}
if [ -z "$builder" ]; then
  echo "deploy/build.sh: install docker, buildah or podman, or name a builder by BUILDER" >&2
  exit 2
fi

read -ra options <<< "${BUILD_OPTIONS:-}"
"$builder" build "${options[@]}" --tag "$image" --file deploy/Dockerfile .

if [ -n "$template" ]; then
  "$builder" push "$image"
  gcloud dataflow flex-template build "$template" --image "$image" --sdk-language PYTHON \
    --metadata-file deploy/template_metadata.json
fi
