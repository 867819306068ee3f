"""Who else is on the machine reaches no scheduler and no worker of a fleet's own cluster."""

import http.client
import os
import socket
import ssl
from importlib.util import find_spec

import pytest

from core.fleet.cluster import cluster

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="the extra cluster is not installed")
psutil = pytest.importorskip("psutil")


def nothing():
    return None


@pytest.fixture(scope="module")
def ports():
    """Where this process and its children listen while a cluster is up that tests may try to reach."""
    before = listening()
    with cluster(lambda unit: [], nothing, workers=1) as executor:
        assert executor.capacity
        yield listening() - before


def listening():
    """Ports on which this process and its children listen, and none on an address that other machines reach."""
    here = psutil.Process(os.getpid())
    processes = (here, *here.children(recursive=True))
    found = [c for p in processes for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert {connection.laddr.ip for connection in found} <= {"127.0.0.1", "::1"}
    return {connection.laddr.port for connection in found}


PAGES = ("/", "/status", "/info/main/workers.html", "/json/identity.json", "/metrics", "/health")


def shows_nothing(port):
    """Whether a port speaks HTTP and has no page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        for page in PAGES:
            connection.request("GET", page)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404, page
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def asks_for_a_key(port):
    """Whether a port speaks TLS and hangs up on whoever cannot show a certificate of this cluster's."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line, pytest.raises(ssl.SSLError) as refused:
        # With TLS 1.3 the server looks at the certificate after the client's side of the handshake.
        anybody.wrap_socket(line).recv(1)
    return "CERTIFICATE_REQUIRED" in str(refused.value) or "HANDSHAKE_FAILURE" in str(refused.value)


def test_nobody_without_the_key_gets_in_and_no_page_is_shown(ports):
    silent = {port for port in ports if shows_nothing(port)}
    assert len(ports - silent) >= 2
    assert [port for port in ports - silent if not asks_for_a_key(port)] == []
