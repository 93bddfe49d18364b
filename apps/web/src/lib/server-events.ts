import { EventSourceParserStream } from "eventsource-parser/stream";

/** A server-sent event. `cursor` is its id; null for an event without an id. */
export type ServerEvent = { name: string; data: string; cursor: string | null };

/** The events of a response. */
export async function* eventsIn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const { event: name = "message", data, id: cursor = null } = read.value;
      yield { name, data, cursor };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
