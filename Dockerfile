# One image for web, worker and beat; docker-compose.yml says which it is.
# Which images they are: .ci/image-digests
ARG NODE_IMAGE=node:22-slim
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${NODE_IMAGE} AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

# A checkout made under umask 077 can be read by its owner alone; the image is run by another account.
FROM modules AS files
COPY manage.py ./
COPY engine engine
COPY kscope kscope
COPY scheduling scheduling
COPY volumes volumes
COPY kube kube
COPY templates templates
COPY static static
COPY scenarios scenarios
COPY docs docs
RUN chmod -R u=rwX,go=rX /app

# The page that an export fills is built here, so that esbuild is not in the image.
FROM ${PYTHON_IMAGE} AS page
COPY --from=files /app /app
WORKDIR /app
RUN python -m kscope.static_files.one_file && rm -rf node_modules/@esbuild node_modules/esbuild

FROM ${PYTHON_IMAGE}
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 KSCOPE_DATA=/data
RUN useradd --no-create-home --uid 10001 --user-group kscope && mkdir /data && chown 10001:10001 /data
WORKDIR /app
COPY requirements/runtime.txt requirements/
RUN pip install --no-cache-dir --require-hashes --no-deps -r requirements/runtime.txt
COPY --from=page /app ./
RUN python -m kscope.words.compiling
USER 10001:10001
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "kscope.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--lifespan", "off", "--ws-per-message-deflate", "false", "--no-access-log", \
     "--ws-max-size", "16384", "--limit-concurrency", "4096", \
     "--http", "kscope.runs.capacity.connections:HttpProtocol"]
