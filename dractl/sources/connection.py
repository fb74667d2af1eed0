"""One connection to an API server: configuration and authentication of the ``kubernetes`` package, raw GET requests.

Reading only, except for the two calls whose names say otherwise. Nothing that could hold a credential (headers, the
kubeconfig, an exec plugin's output) ever becomes part of a message.
"""

from __future__ import annotations

import contextlib
import json
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from dractl.errors import DractlError, Exit
from dractl.sources.kubeconfig import check_kubeconfig, plugin_errors_raised

_TRIES = 5
_TRIES_OF_SLOW = 2
"""A server that does not answer in time is asked once more only: each try costs the whole --request-timeout."""
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
pause = time.sleep
"""How to wait before a retry; tests put something faster here."""
_RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, as whom, and how long one request may take (seconds; 0: no limit)."""

    context: str | None = None
    kubeconfig: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    request_timeout: float = 60.0


class ApiError(Exception):
    """The API server answered with an error. ``message`` is its own text."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if message else f"{status} {reason}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


@dataclass(slots=True)
class Connection:
    """An API server that can be asked. ``namespace`` is the context's default namespace."""

    client: Any
    headers: Any
    host: str
    namespace: str
    access: Access

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The JSON at ``path``.

        Raises:
            ApiError: the server's refusal, after retries where they can help.
            DractlError: the server cannot be reached, or answers with something else than JSON.
        """
        return self._parse(path, self._with_retries("GET", path, params, None))

    def get_once(self, path: str, params: Mapping[str, str | int], timeout: float) -> Any:
        """The JSON at ``path`` within ``timeout`` seconds, without retries; errors as of ``get``."""
        return self._parse(path, self._once("GET", path, params, None, timeout))

    def get_small(self, path: str, timeout: float, limit: int) -> Any:
        """The JSON at ``path`` if it has at most ``limit`` bytes, within ``timeout`` seconds and without retries.

        For answers that come from somewhere else than the API server itself; a redirection is not followed.

        Raises:
            ApiError: the server's refusal.
            DractlError: it did not answer in time, the answer is larger, or is no JSON.
        """
        response = self._send("GET", path, None, None, timeout)
        try:
            if response.status >= 300:
                # the body may be somebody else's too
                raise ApiError(int(response.status), str(response.reason or "error"), "")
            data: bytes = response.read(limit + 1)
        except ApiError:
            raise
        except Exception as error:
            raise self._unreachable(error) from None
        finally:
            response.close()
        if len(data) > limit:
            raise DractlError(f"{path}: the answer has more than {limit} bytes", "", Exit.NO_CLUSTER)
        return self._parse(path, data)

    def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """POST ``body``: writes to the cluster. Not retried, since a lost answer may hide a success."""
        return self._parse(path, self._once("POST", path, None, body))

    def delete(self, path: str) -> Any:
        """DELETE ``path``: writes to the cluster."""
        return self._parse(path, self._once("DELETE", path, None, None))

    def lines(
        self,
        path: str,
        params: Mapping[str, str | int],
        timeout: float,
        opened: Callable[[Callable[[], None]], None] | None = None,
    ) -> Iterator[bytes]:
        """The lines of an answer as they come (watches). Ends when the server ends it or ``timeout`` (seconds) passes
        without a byte. ``opened`` is given a function that ends the waiting from another thread.

        Raises:
            ApiError: the server's refusal.
            DractlError: the server does not answer at all, or the connection broke off.
        """
        response = self._send("GET", path, params, None, timeout)
        try:
            if response.status >= 400:
                raise _refusal(response)
            if opened is not None:
                opened(lambda: _hang_up(response))
            rest = b""
            for chunk in response.stream(1 << 16, decode_content=True):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
            if rest:
                yield rest
        except (ApiError, GeneratorExit):
            raise
        except Exception as error:
            broken = self._unreachable(error)
            if not (isinstance(broken, _Unreachable) and broken.slow):
                raise broken from None
        finally:
            response.close()

    def _with_retries(self, method: str, path: str, params: Mapping[str, str | int] | None, body: Any) -> bytes:
        next_pause = _FIRST_PAUSE
        for attempt in range(1, _TRIES + 1):
            try:
                return self._once(method, path, params, body)
            except ApiError as error:
                if error.status not in _RETRIED or attempt == _TRIES:
                    raise
                wait = error.retry_after if error.retry_after is not None else next_pause
            except _Unreachable as error:
                if not error.transient or attempt == (_TRIES_OF_SLOW if error.slow else _TRIES):
                    raise
                wait = next_pause
            # spread the retries of many callers
            pause(min(wait, _LONGEST_PAUSE) * (0.8 + 0.4 * random.random()))
            next_pause *= 2
        raise AssertionError("unreachable")

    def _once(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None,
        body: Any,
        timeout: float | None = None,
    ) -> bytes:
        response = self._send(method, path, params, body, self.access.request_timeout if timeout is None else timeout)
        try:
            if response.status >= 400:
                raise _refusal(response)
            data: bytes = response.data
        except ApiError:
            raise
        except Exception as error:
            raise self._unreachable(error) from None
        finally:
            response.release_conn()
        return data

    def _send(
        self, method: str, path: str, params: Mapping[str, str | int] | None, body: Any, timeout: float
    ) -> Any:
        url = self.host + path + (f"?{urlencode(params)}" if params else "")
        headers = self.headers.copy()
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            if self.client.configuration.refresh_api_key_hook is not None:
                # a token of an exec plugin or a projected service account token may have expired
                with plugin_errors_raised():
                    headers.update(_authorization(self.client))
            # the pool of connections, since what lies above it differs between releases of the package
            return self.client.rest_client.pool_manager.request(
                method,
                url,
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=timeout or None,
                retries=False,
                preload_content=False,
            )
        except DractlError:
            raise
        except Exception as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> DractlError:
        text, hint, transient = _describe(error)
        return _Unreachable(f"cannot reach the API server {urlsplit(self.host).netloc}: {text}", hint, transient)

    def _parse(self, path: str, data: bytes) -> Any:
        try:
            return json.loads(data) if data else {}
        except ValueError:
            raise DractlError(
                f"{self.host}{path}: the answer is not JSON ({len(data)} bytes)",
                "Is this the address of a Kubernetes API server, or does a proxy stand before it?",
                Exit.NO_CLUSTER,
            ) from None


_SLOW = "it did not answer in time"


class _Unreachable(DractlError):
    def __init__(self, message: str, hint: str, transient: bool) -> None:
        super().__init__(message, hint, Exit.NO_CLUSTER)
        self.transient = transient
        self.slow = message.endswith(_SLOW)


def connect(access: Access) -> Connection:
    """Open the cluster of a kubeconfig context, or of the pod that dractl runs in.

    Raises:
        DractlError: no usable configuration; names the file and what is missing, never its content.
    """
    from kubernetes import client
    from kubernetes import config as untyped
    from kubernetes.config.config_exception import ConfigException

    config: Any = untyped
    namespace = "default"
    configuration = client.Configuration()
    try:
        file = check_kubeconfig(access.kubeconfig, access.context)
        if file is not None:
            contexts, active = config.list_kube_config_contexts(config_file=file)
            namespace = _namespace_of(contexts, active, access.context) or namespace
            with plugin_errors_raised():
                config.load_kube_config(
                    config_file=file, context=access.context, client_configuration=configuration, persist_config=False
                )
        elif access.context or not _inside_a_pod():
            raise _no_configuration(access)
        else:
            config.load_incluster_config(client_configuration=configuration)
            namespace = _pod_namespace() or namespace
    except DractlError:
        raise
    except ConfigException:
        raise DractlError("the kubeconfig cannot be used", "Does kubectl work with it?", Exit.NO_CLUSTER) from None
    except Exception:  # certificates that are none, values of a wrong type
        raise DractlError("the kubeconfig cannot be used", "Does kubectl work with it?", Exit.USAGE) from None
    configuration.connection_pool_maxsize = 32
    api = client.ApiClient(configuration)
    return Connection(api, _headers(api, access), _without_credentials(configuration.host), namespace, access)


def _without_credentials(host: str) -> str:
    """The server's address; what stands before an @ in it is for nobody's eyes."""
    parts = urlsplit(host if "://" in host else f"https://{host}")
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _headers(api: Any, access: Access) -> Any:
    from urllib3 import HTTPHeaderDict

    from dractl import __version__

    headers = HTTPHeaderDict(
        {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": f"dractl/{__version__}"}
    )
    headers.update(_authorization(api))
    if access.as_user:
        headers["Impersonate-User"] = access.as_user
    for group in access.as_groups:
        headers.add("Impersonate-Group", group)
    return headers


def _authorization(api: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for setting in api.configuration.auth_settings().values():
        if setting.get("in") == "header" and setting.get("value"):
            headers[setting["key"]] = setting["value"]
    return headers


def _namespace_of(contexts: list[dict[str, Any]], active: dict[str, Any] | None, wanted: str | None) -> str | None:
    chosen = next((item for item in contexts if item.get("name") == wanted), None) if wanted else active
    body = (chosen or {}).get("context") or {}
    namespace = body.get("namespace")
    return namespace if isinstance(namespace, str) else None


_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _inside_a_pod() -> bool:
    return (_SERVICE_ACCOUNT / "token").exists()


def _pod_namespace() -> str | None:
    try:
        return (_SERVICE_ACCOUNT / "namespace").read_text().strip() or None
    except OSError:
        return None


def _no_configuration(access: Access) -> DractlError:
    if access.context:
        return DractlError(
            f"there is no kubeconfig that could have the context {access.context!r}", "Give --kubeconfig FILE."
        )
    return DractlError(
        "no cluster is configured",
        "Give --kubeconfig FILE or --context NAME, --snapshot FILE for a recorded cluster, or --demo.",
        Exit.NO_CLUSTER,
    )


def _refusal(response: Any) -> ApiError:
    status = int(response.status)
    try:
        body = json.loads(response.data)
    except Exception:
        body = {}
    body = body if isinstance(body, dict) else {}
    reason = str(body.get("reason") or response.reason or "error")
    after = response.headers.get("Retry-After")
    retry_after = float(after) if after and after.strip().isdigit() else None
    return ApiError(status, reason, str(body.get("message") or ""), retry_after)


def _hang_up(response: Any) -> None:
    """Wake a thread that reads ``response``; whether it can be woken is the HTTP library's business."""
    with contextlib.suppress(Exception):
        response.shutdown()


def _certificate(text: str) -> tuple[str, str, bool]:
    if "mismatch" in text or "not valid for" in text:
        return "its certificate is for another name", "Check server and tls-server-name in the kubeconfig.", False
    if "expired" in text:
        return "its certificate has expired", "Renew the server's certificate; is this machine's clock right?", False
    return "its certificate is not trusted", "Check certificate-authority in the kubeconfig.", False


def _describe(error: Exception) -> tuple[str, str, bool]:
    """What happened, what to do, and whether trying again can help. urllib3 wraps the cause in several layers."""
    cause: BaseException = error
    while True:
        inner = getattr(cause, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((arg for arg in cause.args if isinstance(arg, BaseException)), None)
        if inner is None:
            inner = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if not isinstance(inner, BaseException) or inner is cause:
            break
        cause = inner
    name = type(cause).__name__
    text = str(cause).lower()
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused", "Is the server up, and is the address in the kubeconfig right?", False
    if "certverification" in name.lower() or "certificate verify failed" in text:
        return _certificate(text)
    if isinstance(cause, ssl.SSLError) and "eof" not in name.lower():
        return f"TLS failed ({getattr(cause, 'reason', None) or name})", "Is it an https:// address?", False
    if "gaierror" in name or "name or service" in text or "resolution" in name.lower():
        return "its name cannot be resolved", "Check the address in the kubeconfig and the DNS.", False
    if "timeout" in name.lower() or isinstance(cause, TimeoutError):
        return _SLOW, "Raise --request-timeout, or look at the server's load.", True
    if isinstance(cause, ConnectionError) or "protocol" in name.lower() or "incomplete" in name.lower():
        return "the connection broke off", "Try again; a proxy or load balancer may cut long answers.", True
    return f"the request failed ({name})", "Does kubectl reach it?", False
