# syntax=docker/dockerfile:1
# Two stages: wheels are built where a compiler may be, the service runs where none is. The base is an argument, so
# that an air gapped build can name its own mirror or a Debian image made from packages.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /src
RUN python3 -m venv /opt/planner
COPY pyproject.toml README.md ./
COPY schemas ./schemas
COPY registry ./registry
COPY consumer ./consumer
# A folder of wheels beside the Dockerfile makes the build work without a network: put them in ./wheels.
COPY wheel[s] ./wheels
RUN if [ -d wheels ]; then set -- --no-index --find-links wheels; fi; \
    # the publisher's linear program is the one extra that production needs
    /opt/planner/bin/pip install --no-cache-dir "$@" '.[publisher,tracing]' \
    && find /opt/planner -name __pycache__ -prune -exec rm -rf {} + \
    && /opt/planner/bin/pip uninstall --yes pip

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="planner" \
      org.opencontainers.image.description="Answers compound questions over Kafka with a bounded plan of prepared, row secured queries" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/planner /opt/planner
ENV PATH=/opt/planner/bin:${PATH} \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PLANNER_HTTP_HOST=0.0.0.0
# No write of ours needs a disk: the root file system may be read only.
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["planner"]
CMD ["worker"]
