"""Connections to backends are verified both ways, and nothing is sent where the other side is not who it should be."""

import ssl
import time

import grpc
import pytest
from backends import GrpcBackend, HttpBackend
from certificates import Authority
from forwarding import Counted, append, destination, forwarder, spans

from otel_runlog.errors import ConfigError
from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.server.forward import Forwarder


class Certificates:
    def __init__(self, folder):
        self.ours = Authority(folder / "ours", "ca")
        self.others = Authority(folder / "others", "ca")
        self.server = self.ours.give("server")
        self.wrong_name = self.ours.give("elsewhere", "DNS:elsewhere.example")
        self.client = self.ours.give("client")
        self.stranger = self.others.give("client")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def http_backend(server, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*server)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return HttpBackend(tls=context)


def grpc_backend(server, client_ca=None):
    certificate, key = server
    root = None if client_ca is None else client_ca.read_bytes()
    pair = (key.read_bytes(), certificate.read_bytes())
    return GrpcBackend(credentials=grpc.ssl_server_credentials([pair], root, require_client_auth=root is not None))


@pytest.fixture(params=[http_backend, grpc_backend])
def serve(request):
    """A backend with a certificate; closed at the end."""
    made = []

    def make(server, client_ca=None):
        made.append(request.param(server, client_ca))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def folder(tmp_path):
    folder = journal_folder(tmp_path / "runs.duckdb")
    writer = JournalWriter(folder)
    append(writer, spans(3))
    writer.close()
    return folder


def arrives(folder, backend, **settings):
    """Whether all arrives; where it does not, that it is being tried again."""
    count = Counted()
    made = forwarder(folder, backend.url, count, **settings)
    try:
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            if count.total("forwarded") == 3:
                return True
            if count.total("forward_retries") >= 2:
                return bool(backend.requests)
            time.sleep(0.02)
        pytest.fail("neither taken nor refused")
    finally:
        made.stop(5.0)


def test_a_certificate_of_the_given_authority_is_trusted(certificates, serve, folder):
    assert arrives(folder, serve(certificates.server), ca_file=certificates.ours.ca_file)


@pytest.mark.fault(45)
def test_a_certificate_of_no_known_authority_gets_nothing(certificates, serve, folder):
    assert not arrives(folder, serve(certificates.server))


@pytest.mark.fault(45)
def test_a_certificate_of_another_authority_gets_nothing(certificates, serve, folder):
    assert not arrives(folder, serve(certificates.server), ca_file=certificates.others.ca_file)


@pytest.mark.fault(45)
def test_a_certificate_for_another_host_gets_nothing(certificates, serve, folder):
    assert not arrives(folder, serve(certificates.wrong_name), ca_file=certificates.ours.ca_file)


def test_a_backend_that_asks_for_a_certificate_gets_it(certificates, serve, folder):
    backend = serve(certificates.server, certificates.ours.ca_file)
    certificate, key = certificates.client
    assert arrives(folder, backend, ca_file=certificates.ours.ca_file, cert_file=certificate, key_file=key)


def test_a_client_s_certificate_that_the_backend_does_not_know_is_refused(certificates, serve, folder):
    backend = serve(certificates.server, certificates.ours.ca_file)
    certificate, key = certificates.stranger
    assert not arrives(folder, backend, ca_file=certificates.ours.ca_file, cert_file=certificate, key_file=key)


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_certificates_that_cannot_be_used_are_told_at_the_start(certificates, folder, scheme, tmp_path):
    url = f"{scheme}://127.0.0.1:1"
    with pytest.raises(ConfigError, match="cannot read"):
        Forwarder(folder, destination(url, ca_file=tmp_path / "none.pem"), Counted())
    with pytest.raises(ConfigError, match="both"):
        Forwarder(folder, destination(url, cert_file=certificates.client[0]), Counted())


def test_certificates_of_a_connection_that_is_not_encrypted_are_a_mistake(certificates, folder):
    with pytest.raises(ConfigError, match="not encrypted"):
        Forwarder(folder, destination("http://127.0.0.1:1", ca_file=certificates.ours.ca_file), Counted())


def test_a_file_that_holds_no_certificate_is_told_at_the_start(folder, tmp_path):
    (tmp_path / "no.pem").write_text("nothing")
    with pytest.raises(ConfigError, match="cannot be used"):
        Forwarder(folder, destination("https://127.0.0.1:1", ca_file=tmp_path / "no.pem"), Counted())
