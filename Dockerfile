# The HTTP service. The running image needs no write access to its own file system: everything it
# keeps lies below /data.
#
#   docker build -t qreplace .
#   docker run --read-only --tmpfs /tmp --volume qreplace:/data --publish 127.0.0.1:8321:8321 qreplace

FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements/core.txt requirements/build.txt requirements/
RUN python -m venv /opt/qreplace
RUN /opt/qreplace/bin/python -m pip install --no-cache-dir --require-hashes -r requirements/core.txt
RUN python -m pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY qreplace qreplace
COPY schemas schemas
COPY web web
COPY certificates certificates
RUN python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .
RUN /opt/qreplace/bin/python -m pip install --no-cache-dir --no-deps --no-index --find-links /wheels qreplace

FROM python:3.11-slim
RUN groupadd --system --gid 10001 qreplace \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /data qreplace \
 && install --directory --owner=10001 --group=10001 /data
COPY --from=build /opt/qreplace /opt/qreplace
ENV PATH=/opt/qreplace/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    QREPLACE_DATA_DIR=/data \
    MPLCONFIGDIR=/data/cache \
    NUMBA_CACHE_DIR=/data/cache/numba
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8321
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8321/healthz', timeout=4)"]
ENTRYPOINT ["qreplace"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8321"]
