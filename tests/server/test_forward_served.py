"""The server and its destinations: what it acknowledged arrives, whatever is killed; a dead one holds nothing up."""

import threading
import time
import urllib.request

import pytest
from backends import GrpcBackend, HttpBackend, Reply
from forwarding import spans
from serving import agent_spans, serving, until

from otel_runlog.journal import journal_folder, segments
from otel_runlog.otlp.export import encode_spans
from otel_runlog.store.reader import StoreReader

DEAD = Reply(status=503, keeps=False)
PROMISED_END_S = 5.0
"""Asserted at three times that: the machine may be busy."""


class Client:
    """Sends requests of its own spans to whichever server is there, and keeps which were acknowledged."""

    def __init__(self, name):
        self.http = None
        self.acknowledged = []
        self._spans = spans(4000, name)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def stop(self):
        self._stopping.set()
        self._thread.join()

    def _send(self):
        for at in range(0, len(self._spans), 5):
            if self._stopping.is_set():
                return
            batch = self._spans[at : at + 5]
            try:
                headers = {"content-type": "application/x-protobuf"}
                url = f"http://{self.http}/v1/traces"
                with urllib.request.urlopen(urllib.request.Request(url, encode_spans(batch), headers), timeout=10):
                    self.acknowledged += [span.span_id for span in batch]
            except OSError:
                time.sleep(0.05)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def backend(request):
    made = getattr(request, "param", HttpBackend)()
    yield made
    made.close()


@pytest.mark.fault(2, 17)
def test_a_server_that_is_killed_forwards_all_that_it_acknowledged(db, backend):
    clients = [Client(f"client {number}") for number in range(2)]
    seen = 0
    try:
        for _ in range(2):
            with serving(db, "--forward", backend.url) as served:
                for client in clients:
                    client.http = served.http
                assert backend.wait_for(lambda seen=seen: len(backend.requests) > seen + 2, 20.0)
                seen = len(backend.requests)
                served.kill()
    finally:
        for client in clients:
            client.stop()
    acknowledged = {span_id for client in clients for span_id in client.acknowledged}
    assert acknowledged
    with serving(db, "--forward", backend.url) as served:
        assert backend.wait_for(lambda: acknowledged <= set(backend.span_ids()), 20.0)
        assert served.end()[0] == 0


@pytest.mark.fault(9)
def test_a_dead_backend_holds_up_neither_loading_nor_the_end_and_gets_all_later(db, backend):
    backend.answer = lambda request: DEAD
    with serving(db, "--forward", backend.url) as served:
        assert served.exporter("http").export(agent_spans(3)).name == "SUCCESS"
        until(lambda: served.get("/healthz")[0] == 200)
        assert backend.wait_for(lambda: len(backend.refused) >= 1)
        code, took_s = served.end()
    assert (code, took_s < 3 * PROMISED_END_S) == (0, True)
    with StoreReader(db) as reader:
        assert len(reader.runs()) == 3
    assert len(segments(journal_folder(db))) == 1
    backend.answer = lambda request: Reply()
    with serving(db, "--forward", backend.url) as served:
        assert backend.wait_for(lambda: len(backend.span_ids()) == 6)
        until(lambda: not segments(journal_folder(db)))
        assert served.end()[0] == 0
    assert set(backend.span_ids().values()) == {1}


def test_a_destination_that_was_taken_out_of_the_settings_holds_nothing(db, backend):
    backend.answer = lambda request: DEAD
    with serving(db, "--forward", backend.url) as served:
        served.exporter("http").export(agent_spans(1))
        served.end()
    assert len(segments(journal_folder(db))) == 1
    with serving(db) as served:
        served.exporter("http").export(agent_spans(1))
        served.end()
    assert segments(journal_folder(db)) == []


@pytest.mark.parametrize("backend", [HttpBackend, GrpcBackend], indirect=True)
def test_enriched_spans_and_their_runs_arrive_once(db, backend):
    wanted = f'{{ url = "{backend.url}", enrich = true, runs = "logs" }}'
    with serving(db, "--forward", wanted) as served:
        served.exporter("grpc").export(agent_spans(4, calls=2))
        assert backend.wait_for(lambda: len(backend.span_ids()) == 12 and len(backend.log_records()) == 4)
        assert served.end()[0] == 0
    assert set(backend.span_ids().values()) == {1}
    with StoreReader(db) as reader:
        told = {record.attributes["runlog.run.id"] for record in backend.log_records()}
        assert told == {run.run_id for run in reader.runs()}
