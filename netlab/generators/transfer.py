"""One transfer by an external tool, for its result alone: what a benchmark compares."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from netlab.errors import RunError
from netlab.generators.remote_process import LISTEN_S, RemoteProcess
from netlab.generators.tools import Received, Tool, TransferRequest, Variant
from netlab.generators.trial import END_S, SLACK_S
from netlab.hosts.host import Host


def run_transfer(
    tool: Tool,
    program: str,
    transfer: TransferRequest,
    variant: Variant,
    *,
    sender: Host,
    receiver: Host,
    meter: Callable[[], None] = lambda: None,
) -> tuple[Received, float]:
    """Run a tool's server and client once.

    Parameters
    ----------
    tool, program : Tool, str
        The tool, and its program file on both hosts.
    transfer, variant : TransferRequest, Variant
        The transfer, and the tool's way to do it.
    sender, receiver : Host
        Open hosts.
    meter : callable
        Called right before the client starts, and again when both ends have reported.

    Returns
    -------
    Received, float
        The receiver's count, and the CPU time of client and server in s.

    Raises
    ------
    RunError
        The tool failed, timed out, or printed a result that its parser refuses.
    HostError
        A host is lost. In either case no process is left.
    """
    serve = (program, *tool.server_arguments(transfer, variant))
    send = (program, *tool.client_arguments(transfer, variant))
    client_s = transfer.seconds + SLACK_S
    with ExitStack() as stack:
        # The client's host is ready before the server listens, so that only the tool is metered.
        client = stack.enter_context(
            RemoteProcess(sender, f"{tool.name}'s client", send, limit_s=client_s, hold=True)
        )
        client.wait_ready()
        server = stack.enter_context(
            RemoteProcess(
                receiver,
                f"{tool.name}'s server",
                serve,
                limit_s=LISTEN_S + client_s + END_S,
                port=transfer.port,
            )
        )
        if not server.wait_listening():
            raise RunError(
                f"{receiver.name}: port {transfer.port} is in use",
                reason="in_use",
                code="E-TOOL-022",
            )
        meter()
        client.go()
        sent = client.result()
        if tool.server_stays:
            server.wait_output(_complete(tool, transfer), END_S)
        else:
            server.wait(END_S)
        meter()
        printed = server.output
        server.terminate()
        got = server.wait(END_S)
        if tool.reads == "server":
            server.result()
        received = tool.parse(printed if tool.reads == "server" else sent.text, transfer)
    return received, sent.cpu_s + (got.cpu_s if got else 0.0)


def _complete(tool: Tool, transfer: TransferRequest) -> Callable[[str], bool]:
    """A check of a server's output: it can be parsed, and has not grown since the last poll."""
    seen = None

    def is_complete(text: str) -> bool:
        nonlocal seen
        grown, seen = text != seen, text
        if grown:
            return False
        try:
            tool.parse(text, transfer)
        except RunError:
            return False
        return True

    return is_complete
