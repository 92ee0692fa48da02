// Spans of the OpenTelemetry SDK of Node over OTLP/HTTP. Environment: OTLP_URL. Arguments: how many, encoding (json,
// protobuf), compression (none, gzip). It writes what the exporter reports as errors to stderr.
import { diag, DiagConsoleLogger, DiagLogLevel } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const [number, encoding, compression] = process.argv.slice(2);
diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
const exporter = new (encoding === "json" ? JsonExporter : ProtobufExporter)({ url: process.env.OTLP_URL, compression });
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
const tracer = provider.getTracer("test");
for (let n = 0; n < Number(number); n++) {
  const span = tracer.startSpan(`span ${n}`, { attributes: { text: "väl", numbers: [1, 2], big: 2 ** 40, half: 0.5 } });
  span.addEvent("said", { n });
  span.end();
}
await provider.shutdown();
