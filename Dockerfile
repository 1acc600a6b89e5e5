# The service as an unprivileged user. It writes only to /data and /tmp: see docs/install.md.

FROM python:3.13-slim-bookworm AS build
WORKDIR /build
# The tools that build the package stay out of the environment that becomes a part of the image.
RUN python -m venv /opt/masthead && python -m venv /opt/build
COPY requirements.lock requirements-build.lock ./
RUN /opt/masthead/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock
RUN /opt/build/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-build.lock
# Only what .dockerignore lists.
COPY . .
RUN /opt/build/bin/python -m hatchling build -t wheel -d /wheel \
    && /opt/masthead/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps /wheel/*.whl

FROM python:3.13-slim-bookworm
RUN groupadd --system --gid 10001 masthead \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin masthead \
    && install --directory --owner 10001 --group 10001 --mode 0700 /data
COPY --from=build /opt/masthead /opt/masthead
ENV PATH=/opt/masthead/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    MASTHEAD_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/api/health', timeout=4)"]
ENTRYPOINT ["masthead"]
# A container may have no IPv6.
CMD ["serve", "--host", "0.0.0.0"]
