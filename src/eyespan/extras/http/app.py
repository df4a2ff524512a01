"""Starts the HTTP server: tokens, socket, sandbox, then one worker or several."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eyespan.extras.http import auth
from eyespan.extras.http.http_options import SYSTEMD, HttpOptions
from eyespan.server import WorkspaceFactory, sandboxing
from eyespan.server.serve_options import InvalidOptions

try:
    from eyespan.extras.http import eviction
    from eyespan.extras.http.auth.rate import SharedSlots
    from eyespan.extras.http.caller_services import CallerServices
    from eyespan.extras.http.http_server import raise_descriptor_limit
    from eyespan.extras.http.http_worker import StopSignals, WorkerSetup, run_worker
    from eyespan.extras.http.listening import listen, port_of, url_of, with_address
    from eyespan.extras.http.log import Log
    from eyespan.extras.http.metrics import Metrics
    from eyespan.extras.http.notify import Notifier
    from eyespan.extras.http.page.served import PageFiles
    from eyespan.extras.http.reload import Keeper, has_token_files, on_hangup
    from eyespan.extras.http.supervisor import Supervisor
except ImportError as error:
    message = f"HTTP needs a package that is not installed ({error.name}): pip install 'eyespan[http]'"
    raise InvalidOptions(message) from None

if TYPE_CHECKING:
    import ssl


__all__ = ["listen", "serve"]


def serve(workspace_factory: WorkspaceFactory, options: HttpOptions) -> int:
    """Serve until a signal ends the process; running reads are finished first. Returns the exit status.

    Raises: InvalidOptions, OSError, ValueError.
    """
    if options.workers > 1 and not hasattr(os, "fork"):
        raise InvalidOptions("--workers needs a system with fork; start several servers instead")
    signals = StopSignals()
    log = Log(options.log == "json")
    notifier = Notifier(os.environ)
    listener = listen(options)
    is_passed = options.http[0] == SYSTEMD
    options = with_address(options, listener)
    has_tokens = has_token_files(options, os.environ)
    authenticator, token_note = auth.load(options)
    keeper = None
    if (has_tokens or options.tls_cert is not None) and hasattr(os, "fork"):
        # Forked here, while this process has one thread and no workspace.
        keeper = Keeper(options, log, has_tokens=has_tokens, closes=(listener, notifier))
    on_hangup(None if keeper is None else keeper.look, log)
    services = CallerServices(workspace_factory, options, authenticator)
    slots = SharedSlots()
    if options.workers > 1:
        slots.share()
    setup = WorkerSetup(
        services=services,
        authenticator=authenticator,
        options=options,
        listener=listener,
        port=port_of(listener),
        is_passed=is_passed,
        metrics=Metrics(options.workers),
        slots=slots,
        log=log,
        notifier=notifier,
        keeper=keeper,
        tls_context=_tls_context(options),
        capacity=eviction.capacity(raise_descriptor_limit()),
        page=PageFiles() if options.view else None,
    )
    services.seal()
    confinement = sandboxing.confine(options, services.roots, services.audit, reached=issuer_addresses(options))
    url = url_of(options, listener)
    log.write("start", f"{url} ({token_note}); {confinement}", url=url, tokens=token_note, sandbox=confinement)
    if options.view:
        page_url = url.removesuffix("/mcp") + "/view/"
        text = f"{page_url} is the page" + ("" if options.no_token else "; it asks for the token")
        log.write("view", text, url=page_url)
    if options.no_sandbox:
        log.write("warning", sandboxing.OFF_LINE)
    if options.workers == 1:
        setup.metrics.take_row(0)
        notifier.send("READY=1", f"STATUS={url}")
        return run_worker(setup, signals, parent_fd=None)
    return Supervisor(setup, signals, url).run()


def issuer_addresses(options: HttpOptions) -> list[str]:
    """Return the addresses of the OAuth issuer, which the server connects to."""
    issuer = options.oauth_issuer
    return [] if issuer is None else [issuer, os.environ.get("EYESPAN_OAUTH_JWKS", issuer)]


def _tls_context(options: HttpOptions) -> ssl.SSLContext | None:
    """Return the context of TLS, or None without. Raises: InvalidOptions, OSError."""
    if options.tls_cert is None or options.tls_key is None:
        return None
    from eyespan.extras.http import tls

    return tls.context_of(*tls.load_files(options.tls_cert, options.tls_key))
