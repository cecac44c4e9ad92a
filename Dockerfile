# An image from wheels, built without a network. `make package` collects the wheels and tries the same
# installation; `make image` builds the image:
#
#     docker build --file Dockerfile --tag windtunnel build/wheels
#     docker run --rm --user "$(id -u)" --volume "$PWD:/data" windtunnel run model.onnx ./val
#
# BASE is an image with the Python of the wheels.
ARG BASE=python:3.11-slim
FROM ${BASE}
ARG EXTRAS=

RUN --mount=type=bind,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels "windtunnel[${EXTRAS}]"

# Any user may write compiled kernels and downloaded files.
ENV WINDTUNNEL_CACHE=/var/cache/windtunnel/files NUMBA_CACHE_DIR=/var/cache/windtunnel/kernels
RUN mkdir -m 1777 /var/cache/windtunnel
USER nobody
WORKDIR /data
ENTRYPOINT ["windtunnel"]
