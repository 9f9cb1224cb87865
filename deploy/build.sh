#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile, and makes a Dataflow Flex Template of it where a file for that is named:
#   deploy/build.sh IMAGE [gs://BUCKET/turnwise.json]
# BUILDER names the program that builds (default: docker, buildah or podman, what is found first);
# BUILD_OPTIONS are passed to it, for example "--build-arg PYTHON=3.12".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

refuse() {
  echo "deploy/build.sh: $1" >&2
  exit 2
}

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ -z "$1" ] || [[ $1 == -* ]]; then
  refuse "usage: deploy/build.sh IMAGE [gs://BUCKET/turnwise.json]"
fi
image=$1 template=${2:-}
if [[ -n $template && $template != gs://?*/?* ]]; then
  refuse "$template: a template is a file in Cloud Storage, gs://BUCKET/turnwise.json"
fi

found=$(command -v docker || command -v buildah || command -v podman || true)
builder=${BUILDER:-$found}
if [ -z "$builder" ]; then
  refuse "install docker, buildah or podman, or name a builder by BUILDER"
fi
for program in "$builder" ${template:+gcloud}; do
  command -v "$program" > /dev/null || refuse "$program is not installed"
done

read -ra options <<< "${BUILD_OPTIONS:-}"
"$builder" build "${options[@]}" --tag "$image" --file deploy/Dockerfile .

if [ -n "$template" ]; then
  "$builder" push "$image"
  gcloud dataflow flex-template build "$template" --image "$image" --sdk-language PYTHON \
    --metadata-file deploy/template_metadata.json
fi
