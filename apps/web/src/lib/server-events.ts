/** A server-sent event. `cursor` is its id; null for an event without an id. */
export type ServerEvent = { name: string; data: string; cursor: string | null };

/** The events of a response. */
export async function* eventsIn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    /** The received pieces of an incomplete event. Joining a long event at every piece would take too long. */
    let begun: string[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const isSplitEnd = begun.at(-1)?.endsWith("\n") === true && value.startsWith("\n");
      begun.push(value);
      if (!isSplitEnd && !value.includes("\n\n")) continue;
      const blocks = begun.join("").split("\n\n");
      begun = [blocks.pop() ?? ""];
      for (const block of blocks) {
        const event = eventIn(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The event of a block of lines; null for a comment. */
function eventIn(block: string): ServerEvent | null {
  const fields = new Map(
    block.split("\n").map((line): [string, string] => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const name = fields.get("event");
  if (name === undefined) return null;
  return { name, data: fields.get("data") ?? "null", cursor: fields.get("id") ?? null };
}
