// One AI SDK agent with two tools, traced by a plain NodeTracerProvider that exports over OTLP/HTTP.
// Environment: OPENAI_BASE_URL, OTLP_URL. Arguments: api (chat, responses), call (generate, stream), encoding (json,
// protobuf). It writes the answer to stdout, or the error to stderr.
import { createOpenAI } from "@ai-sdk/openai";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [api, call, encoding] = process.argv.slice(2);
const exporter = new (encoding === "json" ? JsonExporter : ProtobufExporter)({ url: process.env.OTLP_URL });
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "sums" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
provider.register();

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "unused" });
const request = {
  model: openai[api]("gpt-5"),
  prompt: "2 * (19 + 23)?",
  tools: {
    add: tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b }),
    double: tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => 2 * a }),
  },
  stopWhen: stepCountIs(5),
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: "adder", metadata: { sessionId: "conv-7" } },
};

async function* answer() {
  if (call === "generate") yield (await generateText(request)).text;
  else yield* streamText(request).textStream; // its root span ends with the stream
}

try {
  for await (const text of answer()) process.stdout.write(text);
} catch (error) {
  console.error(error.message);
} finally {
  await provider.shutdown();
}
