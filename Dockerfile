# Workbench in a browser:
#
#     docker build -t workbench .
#     docker run --rm -p 127.0.0.1:8000:8000 -v "$HOME/.claude:/home/user/.claude:ro" -v "$HOME/.codex:/home/user/.codex:ro" workbench
#
# The sessions of other agents are mounted read-only. Workbench's own sessions are in the volume /data. The address that
# it prints holds a token; without that token nobody gets in.
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir uv
COPY . /src
RUN uv build --wheel --out-dir /dist /src

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/dist,target=/dist \
    pip install --no-cache-dir "$(echo /dist/*.whl)[serve]" \
    && useradd --create-home user \
    && install -d -o user /data
USER user
WORKDIR /home/user
ENV WORKBENCH_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["workbench"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
