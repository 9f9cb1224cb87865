#!/usr/bin/env bash
# Builds deploy/Dockerfile without a registry: its base images are made here.
#   tests/image/build.sh FOLDER IMAGE
# Needs root, buildah, debootstrap, go, and the registries of Debian, Go and Python. Images are kept in FOLDER.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1 image=$2
beam=2.77.0
export CONTAINERS_STORAGE_CONF=$folder/storage.conf BUILDAH_ISOLATION=chroot

cat > "$CONTAINERS_STORAGE_CONF" << END
[storage]
driver = "vfs"
graphroot = "$folder/images"
runroot = "$folder/run"
END

# An image that holds some files: image NAME SOURCE TARGET
image() {
  local container
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$2" "$3" > /dev/null
  buildah commit --quiet --rm "$container" "localhost/$1" > /dev/null
}

# For Python's image: Debian with its Python, as open to pip as that image is, and with the certificates that this
# machine trusts.
debootstrap --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates bookworm "$folder/base" \
  > "$folder/debootstrap.log"
rm "$folder"/base/usr/lib/python3*/EXTERNALLY-MANAGED
ln -s python3 "$folder/base/usr/bin/python"
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$folder/base/etc/ssl/certs/ca-certificates.crt"
image base "$folder/base" /
rm -r "$folder/base"

# For Beam's image: the same program, built from its source.
GOBIN=$folder go install "github.com/apache/beam/sdks/v2/python/container@v$beam"
mv "$folder/container" "$folder/boot"
image sdk "$folder/boot" /opt/apache/beam/boot

# For Google's image of the launcher, which is no free software: a program that starts the template likewise.
image launcher "$here/launcher.py" /opt/google/dataflow/python_template_launcher

arguments="--build-arg BASE=localhost/base --build-arg SDK=localhost/sdk --build-arg LAUNCHER=localhost/launcher"
BUILDER=buildah BUILD_OPTIONS=$arguments "$here/../../deploy/build.sh" "$image"
