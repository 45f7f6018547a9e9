"""Settings of kscope. One file; what differs between machines comes from the environment.

| variable | default | meaning |
|---|---|---|
| DATABASE_URL | the embedded PostgreSQL of `make up` | postgresql://user:password@host/name |
| REDIS_URL | the embedded Valkey of `make up` | redis://host:6379/0 or unix:///path |
| KSCOPE_POSTGRES | auto | of `make up`: wheel or system allows only that PostgreSQL |
| KSCOPE_DATA | .kscope beside manage.py | data directory of `make up` |
| KSCOPE_DEBUG | 0 | Django's debug pages |
| KSCOPE_SECRET_KEY | kept in the data directory | signs sessions |
| KSCOPE_SEALING_KEY | KSCOPE_SECRET_KEY | seals the data of Secrets; with another one they cannot be read |
| KSCOPE_HOSTS | localhost names | comma-separated host names that are answered |
| KSCOPE_ORIGINS | none | comma-separated origins, with scheme, trusted behind a proxy |
| KSCOPE_SECURE | 0 | 1 behind HTTPS: secure cookies, HSTS, plain HTTP is redirected |
| KSCOPE_LOGIN | auto | required: everything needs an account; auto: see below |
| KSCOPE_OIDC_ISSUER | none | address of an OpenID Connect provider whose accounts may log in |
| KSCOPE_OIDC_CLIENT_ID | none | what the provider calls kscope; needed with KSCOPE_OIDC_ISSUER |
| KSCOPE_OIDC_CLIENT_SECRET | none | the secret that the provider gave kscope, if it did |
| KSCOPE_OIDC_SCOPES | openid profile | what kscope asks the provider for |
| KSCOPE_OIDC_NAME_CLAIM | preferred_username | claim that a new account is named after |
| KSCOPE_OIDC_ROLE_CLAIM | none | claim that gives the role at each login; none: admins give it |
| KSCOPE_OIDC_ROLES | viewer=viewer,editor=editor,admin=admin | roles by the values of that claim |
| KSCOPE_LOG | INFO | level of kscope's own log |
| KSCOPE_LOG_FORMAT | lines | json: one JSON object a line |
| KSCOPE_METRICS_TOKEN | none | lets a client read /metrics with `Authorization: Bearer …` |
| KSCOPE_DELETE_RUNS_DAYS | 0 | delete runs after so many days; 0 for never |
| KSCOPE_THIN_RUNS_DAYS | 0 | keep only spaced checkpoints of runs after so many days; 0: all |
| KSCOPE_DROP_EVIDENCE_DAYS | 0 | drop attempts' evidence after so many days; 0 for never |
| KSCOPE_UPLOAD_MAX | 117440512 | bytes of one upload of an editor, all files together |
| KSCOPE_UPLOAD_MAX_ADMIN | 2147483648 | the same of an admin, and where no login is required |
| KSCOPE_WRITER_EVENTS | 1000 | events of one slice from which a process of its own writes a run |
| KSCOPE_UPLOAD_FILES | 2000 | files of one upload |
| KSCOPE_RATE_READ | 6000/min | requests of an account that read; more where no login is required |
| KSCOPE_RATE_WRITE | 600/min | requests of an account that write; likewise |
| KSCOPE_RATE_KUBE_READ | 5000/10s | the same for the Kubernetes API of runs |
| KSCOPE_RATE_KUBE_WRITE | 1000/10s | likewise |
| KSCOPE_RATE_ANONYMOUS | 600/min | requests of an address that is not logged in |
| KSCOPE_RATE_LOGIN | 10/5min | attempts to log in, for one name at one address |
| KSCOPE_SESSION_IDLE_HOURS | 12 | a login ends when it is not used for so long |
| KSCOPE_SESSION_HOURS | 168 | a login ends after so long in any case |
| KSCOPE_SOCKETS | 100 | open sockets of an account; more where no login is required |
| KSCOPE_QUOTA_UPLOADS | 100 | uploads an account may keep |
| KSCOPE_QUOTA_UPLOAD_BYTES | 4294967296 | bytes of all uploads an account may keep |
| KSCOPE_QUOTA_RUNS | 200 | runs an account may keep, with deleted ones that its forks read |
| KSCOPE_QUOTA_PLAYING | 10 | runs of an account that may play at once |
| KSCOPE_ENGINE_PROCESSES | one more than cores, 3 to 8 | processes that answer pages' questions about engines |
| KSCOPE_ENGINE_MEMORY | 4096 | MiB that one of these may use, of a large run as much as that; at rest it is replaced above a quarter |
| KSCOPE_CLIENT_CLOCK | 600 | seconds for which a run plays on after a client of its Kubernetes API has used it, though nothing is due |
| KSCOPE_DRIVER_MEMORY | 3072 | MiB above which a process that drives runs takes no more, and gives some away |
| KSCOPE_WEB_PLACES | 8 | requests that a web process serves at once; others take turns |
| KSCOPE_WEB_UPLOADS | 4 | uploads that a web process receives or reads at once; others take turns |
| KSCOPE_WEB_SOCKETS | 2000 | WebSockets of a web process |
| KSCOPE_WEB_STREAMS | 512 | MiB that the live streams of a web process may keep |
| KSCOPE_WEB_SENDING | 256 | MiB that may be on their way to readers before the slowest are cut off |
| KSCOPE_STATIC_RELOAD | 0 | 1 while the front end is changed: browsers keep no static file |
| KSCOPE_PSEUDO_LANGUAGE | 0 | 1 while texts are changed: the made-up language en-XA is offered |
| KSCOPE_DATABASE_POOL | 16 | connections that all threads of the web process share; 0: one for each thread |

With KSCOPE_LOGIN=auto a login is required unless `manage.py up` says, by KSCOPE_LOCAL=1, that it
listens on loopback only and runs its own servers; no request can say so. docs/threat-model.md.
"""

import os
from pathlib import Path
from typing import Any

from celery.schedules import schedule
from csp.constants import NONCE, NONE, SELF

from kscope import env, logs
from kscope.accounts.oidc.options import provider_of
from kscope.static_files.version import static_version
from kscope.steady_clock import steady_now
from kscope.up.address import known_servers

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.env_str(os.environ, "KSCOPE_DATA", str(BASE_DIR / ".kscope"))).resolve()

DEBUG = env.env_bool(os.environ, "KSCOPE_DEBUG", False)
SECRET_KEY, SECRET_KEY_LASTS = env.secret_key(os.environ, DATA_DIR)
SEALING_KEY = env.env_str(os.environ, "KSCOPE_SEALING_KEY") or SECRET_KEY
ALLOWED_HOSTS = env.env_list(
    os.environ, "KSCOPE_HOSTS", ["localhost", "127.0.0.1", "[::1]", "testserver"]
)
CSRF_TRUSTED_ORIGINS = env.env_list(os.environ, "KSCOPE_ORIGINS", [])

INSTALLED_APPS = [
    "kscope.apps.KscopeConfig",
    "kscope.accounts.admin_config.KscopeAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "knox",
    "kscope.accounts",
    "kscope.runs",
    "scheduling",
    "volumes",
    "kube",
    "kscope.operations",
]

MIDDLEWARE = [
    "kscope.operations.requests.RequestMiddleware",
    "kscope.runs.web.written.WrittenMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "kscope.accounts.sessions.UsedSessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "kscope.runs.web.contract.old_addresses.OldAddressMiddleware",
    "kscope.runs.web.body_limit.BodyLimitMiddleware",
    "kscope.runs.web.parsers.AddressMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # The last one: see there.
    "kscope.runs.capacity.requests_at_once.OneThreadMiddleware",
]

ROOT_URLCONF = "kscope.urls"
ASGI_APPLICATION = "kscope.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "kscope.accounts.web.context.visitor",
            ],
        },
    }
]

# -- PostgreSQL and Redis -------------------------------------------------------------------------

_SERVERS = known_servers(os.environ, DATA_DIR)
DATABASE_URL = _SERVERS.database_url
REDIS_URL = _SERVERS.redis_url

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        **env.postgres_database(DATABASE_URL),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }
}
DATABASE_POOL = env.env_int(os.environ, "KSCOPE_DATABASE_POOL", 16, highest=1_000)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Only small control messages go through the layer; see docs/architecture.md.
        "CONFIG": {"hosts": [{"address": REDIS_URL}], "prefix": "kscope", "capacity": 1000},
    }
}

CELERY_BROKER_URL = env.celery_broker(REDIS_URL)
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "kscope"
# Tasks take milliseconds, in the worker itself: its processes drive runs, see kscope/worker_steps.py.
CELERY_WORKER_POOL = "solo"
# A worker killed in the middle of a task gives it back; the lease makes a repeat harmless.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TIMEZONE = "UTC"
# In a cluster one worker sweeps, and has the beat; the worker of `up` takes tasks of both queues.
CELERY_SWEEP_QUEUE = "sweeps"
CELERY_TASK_ROUTES = {
    "scheduling.tasks.sweep_runs": {"queue": CELERY_SWEEP_QUEUE},
    "kscope.operations.tasks.apply_retention": {"queue": CELERY_SWEEP_QUEUE},
    "kscope.operations.tasks.forget_write_keys": {"queue": CELERY_SWEEP_QUEUE},
}
# Playing runs continue within seconds after the loss of a worker, a nudge or the broker's memory,
# also when the machine's clock is set back.
CELERY_BEAT_SCHEDULE = {
    "sweep-runs": {
        "task": "scheduling.tasks.sweep_runs",
        "schedule": schedule(3.0, nowfun=steady_now),
        "options": {"expires": 3},
    },
    # Does nothing unless one of the settings below asks for it.
    "apply-retention": {
        "task": "kscope.operations.tasks.apply_retention",
        "schedule": schedule(600.0, nowfun=steady_now),
        "options": {"expires": 600},
    },
    "forget-write-keys": {
        "task": "kscope.operations.tasks.forget_write_keys",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}
# Kept in memory: a beat that writes its schedule to a file ends when the disk is full.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"

# A process beside the worker costs 60 MB: only runs that keep a core busy get one (ADR 0014).
WRITER_EVENTS = env.env_int(os.environ, "KSCOPE_WRITER_EVENTS", 1_000, lowest=1)

# What is counted for rate limits; where Redis does not answer, each process counts for itself.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "kscope",
    },
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}

# -- Operations -----------------------------------------------------------------------------------

METRICS_TOKEN = env.env_str(os.environ, "KSCOPE_METRICS_TOKEN")
# Nothing is ever deleted unless one of these is set.
DELETE_RUNS_DAYS = env.env_int(os.environ, "KSCOPE_DELETE_RUNS_DAYS", 0)
THIN_RUNS_DAYS = env.env_int(os.environ, "KSCOPE_THIN_RUNS_DAYS", 0)
DROP_EVIDENCE_DAYS = env.env_int(os.environ, "KSCOPE_DROP_EVIDENCE_DAYS", 0)

# -- Web ------------------------------------------------------------------------------------------

STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "kscope.static_files.finder.ModuleFinder",
]
# Files are served from where they lie, so that a fresh clone needs no collectstatic.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0
# Pages of other sites have no use for them.
WHITENOISE_ALLOW_ALL_ORIGINS = False
# For those who change the front end: each request looks at the file, and browsers keep none.
WHITENOISE_AUTOREFRESH = env.env_bool(os.environ, "KSCOPE_STATIC_RELOAD", False)
if WHITENOISE_AUTOREFRESH:
    STATIC_URL = "static/"
else:
    _LOCKS = (
        BASE_DIR / "requirements" / "runtime.txt",
        BASE_DIR / "node_modules" / ".package-lock.json",
    )
    STATIC_URL = f"static/{static_version(STATICFILES_DIRS[0], _LOCKS)}/"
    WHITENOISE_IMMUTABLE_FILE_TEST = ".*"

# What a web process may use at most: see docs/limits.md.
_CORES = os.cpu_count() or 1
ENGINE_PROCESSES = env.env_int(
    os.environ, "KSCOPE_ENGINE_PROCESSES", min(max(_CORES + 1, 3), 8), lowest=1, highest=64
)
ENGINE_MEMORY_MIB = env.env_int(os.environ, "KSCOPE_ENGINE_MEMORY", 4096, lowest=256)
# So long after the newest request of a client a run plays on, though nothing is due.
CLIENT_CLOCK_SECONDS = env.env_int(os.environ, "KSCOPE_CLIENT_CLOCK", 600, lowest=1)
# A process that drives runs takes no further ones above this, and gives the least used away.
DRIVER_MEMORY_MIB = env.env_int(os.environ, "KSCOPE_DRIVER_MEMORY", 3072, lowest=256)
WEB_PLACES = env.env_int(os.environ, "KSCOPE_WEB_PLACES", 8, lowest=1, highest=256)
WEB_UPLOADS = env.env_int(os.environ, "KSCOPE_WEB_UPLOADS", 4, lowest=1, highest=256)
WEB_SOCKETS = env.env_int(os.environ, "KSCOPE_WEB_SOCKETS", 2_000, lowest=1)
WEB_STREAMS_MIB = env.env_int(os.environ, "KSCOPE_WEB_STREAMS", 512, lowest=16)
WEB_SENDING_MIB = env.env_int(os.environ, "KSCOPE_WEB_SENDING", 256, lowest=16)

# A body without files is an object, a command or a form: as long as an API server takes it.
UPLOAD_MAX_BYTES = env.env_int(
    os.environ, "KSCOPE_UPLOAD_MAX", 112 * 1024**2, lowest=1024, highest=2**40
)
UPLOAD_MAX_ADMIN_BYTES = env.env_int(
    os.environ, "KSCOPE_UPLOAD_MAX_ADMIN", 2 * 1024**3, lowest=1024, highest=2**40
)
DATA_UPLOAD_MAX_MEMORY_SIZE = 3 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = env.env_int(os.environ, "KSCOPE_UPLOAD_FILES", 2_000, lowest=1)
FILE_UPLOAD_MAX_MEMORY_SIZE = 2_621_440  # of a body; a longer one is on disk while it is received
FILE_UPLOAD_HANDLERS = ["kscope.runs.web.spool.SpoolHandler"]

# -- Accounts and protection ----------------------------------------------------------------------

LOGIN_REQUIRED = env.env_choice(
    os.environ, "KSCOPE_LOGIN", "auto", ("auto", "required")
) == "required" or not env.env_bool(os.environ, "KSCOPE_LOCAL", False)
# None: only accounts of our own log in. See docs/adr/0033.
OIDC = provider_of(os.environ)
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
KNOX_TOKEN_MODEL = "accounts.Token"
# Its own table would stay empty.
MIGRATION_MODULES = {"knox": None}
REST_KNOX = {"TOKEN_PREFIX": "kscope_"}

# A user of the machine itself is limited only so that a script gone wild does not stop the rest.
_MORE = 1 if LOGIN_REQUIRED else 10
_ANONYMOUS = env.env_rate(os.environ, "KSCOPE_RATE_ANONYMOUS", "600/min")
_LOGIN = env.env_rate(os.environ, "KSCOPE_RATE_LOGIN", "10/5min")
RATE_LIMITS = {
    "read": env.env_rate(os.environ, "KSCOPE_RATE_READ", f"{6000 * _MORE}/min"),
    "write": env.env_rate(os.environ, "KSCOPE_RATE_WRITE", f"{600 * _MORE}/min"),
    # A controller or a scheduler writes several times for each pod.
    "kube_read": env.env_rate(os.environ, "KSCOPE_RATE_KUBE_READ", f"{5000 * _MORE}/10s"),
    "kube_write": env.env_rate(os.environ, "KSCOPE_RATE_KUBE_WRITE", f"{1000 * _MORE}/10s"),
    "anonymous_read": _ANONYMOUS,
    "anonymous_write": _ANONYMOUS,
    "login": _LOGIN,
    # Several people may share an address.
    "login_address": env.Rate(_LOGIN.number * 5, _LOGIN.seconds),
}
SOCKETS_PER_ACCOUNT = env.env_int(os.environ, "KSCOPE_SOCKETS", 100 * _MORE, lowest=1)
QUOTAS = {
    "uploads": env.env_int(os.environ, "KSCOPE_QUOTA_UPLOADS", 100),
    "upload_bytes": env.env_int(
        os.environ, "KSCOPE_QUOTA_UPLOAD_BYTES", 4 * 1024**3, highest=2**53
    ),
    "runs": env.env_int(os.environ, "KSCOPE_QUOTA_RUNS", 200),
    "playing": env.env_int(os.environ, "KSCOPE_QUOTA_PLAYING", 10),
}

_SECURE = env.env_bool(os.environ, "KSCOPE_SECURE", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _SECURE
if _SECURE:
    # Browsers take these names from this very host over HTTPS alone.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
SESSION_ENGINE = "kscope.accounts.sessions"
SESSION_COOKIE_AGE = 3600 * env.env_int(os.environ, "KSCOPE_SESSION_IDLE_HOURS", 12, lowest=1)
SESSION_MOST_SECONDS = 3600 * env.env_int(os.environ, "KSCOPE_SESSION_HOURS", 168, lowest=1)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _SECURE else None
SECURE_SSL_REDIRECT = _SECURE
# What watches the process asks it directly, without the proxy.
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _SECURE else 0
# Whether other names of the domain speak HTTPS, and browsers should know beforehand, is not ours
# to decide: W005 and W021 ask for both.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        # The import map is the one inline script.
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    name: []
    for name in (
        *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope"),
        *("magnetometer", "microphone", "midi", "payment", "usb"),
    )
}

AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "kscope.accounts.passwords.GuessedPasswordValidator"},
    {"NAME": "kscope.accounts.passwords.EndOfTokens"},
]

LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English")]
LOCALE_PATHS = [BASE_DIR / "kscope" / "locale"]
# For those who change texts: docs/words.md.
PSEUDO_LANGUAGE = env.env_bool(os.environ, "KSCOPE_PSEUDO_LANGUAGE", False)
if PSEUDO_LANGUAGE:
    LANGUAGES.append(("en-xa", "⟦Énglíšh~~⟧"))
    LOCALE_PATHS.insert(0, DATA_DIR / "locale")
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["kscope.runs.languages.renderers.SaidRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kscope.accounts.authentication.TokenAuthentication",
        "kscope.accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["kscope.accounts.permissions.ReadersAndEditors"],
    "DEFAULT_THROTTLE_CLASSES": ["kscope.accounts.limits.RequestThrottle"],
    "DEFAULT_SCHEMA_CLASS": "kscope.runs.web.contract.document.Operation",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    # JSON alone: a form on a foreign page cannot send it without asking first.
    "DEFAULT_PARSER_CLASSES": ["kscope.runs.web.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "kscope.runs.web.api.errors.handle_errors",
    # `?format=` chooses between JSON, NDJSON and CSV in the exports.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "kscope",
    "DESCRIPTION": "Runs of the simulated scheduler, their events, their state at any moment.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    # What a PATCH needs is required in its body, as in any other.
    "COMPONENT_SPLIT_PATCH": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "VisibilityEnum": "kscope.accounts.access.Visibility",
        "SpeedEnum": "kscope.runs.models.Run.Speed",
        "StuckKindEnum": [
            *("pending", "placed-but-stuck", "claim", "workload-refused", "node", "terminating"),
        ],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kscope.runs.web.contract.document.finish",
    ],
}

# Here, once: Django would do it again in each process that is forked, and Celery yet again.
LOGGING_CONFIG = None
logs.configure(
    env.env_choice(os.environ, "KSCOPE_LOG_FORMAT", "lines", logs.FORMS),
    env.env_choice(os.environ, "KSCOPE_LOG", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
)
