import type { Serving } from "./serving.ts";

/** A server-sent event, as received. */
export type Sent = { name: string; id: string | null; data: Record<string, unknown> };

/** Reads a stream to its end, or until `enough` is true for the received messages. */
export async function follow(
  serving: Serving,
  path: string,
  {
    lastEventId,
    enough = () => false,
    timeoutMs = 60_000,
  }: {
    lastEventId?: string;
    enough?: (sent: Sent[]) => boolean | Promise<boolean>;
    timeoutMs?: number;
  } = {},
): Promise<Sent[]> {
  const abort = new AbortController();
  const timer = setTimeout(
    () => abort.abort(new Error(`${path}: timeout after ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    const response = await serving.fetch(path, {
      headers: lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId },
      signal: abort.signal,
    });
    if (response.status !== 200)
      throw new Error(`${path}: ${response.status} ${await response.text()}`);
    const sent: Sent[] = [];
    for await (const event of eventsOf(response)) {
      sent.push(event);
      if (await enough(sent)) break;
    }
    if (abort.signal.aborted)
      throw new Error(`${path}: only received ${JSON.stringify(sent.slice(-5))}`);
    return sent;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/** Yields the events of an answer as they arrive. Ends if the connection breaks. */
export async function* eventsOf({ body }: Response): AsyncGenerator<Sent> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } catch {
    // The server was stopped, or the reader has enough.
  }
}

function parse(block: string): Sent | null {
  const fields = new Map(
    block.split("\n").map((line): [string, string] => {
      const at = line.indexOf(":");
      return [line.slice(0, at), line.slice(at + 1).trimStart()];
    }),
  );
  const name = fields.get("event");
  if (name === undefined) return null;
  const data = JSON.parse(fields.get("data") ?? "null") as Sent["data"];
  return { name, id: fields.get("id") ?? null, data };
}

/** Returns only the records of the log, without statuses. */
export const logged = (sent: Sent[]): Sent[] => sent.filter(({ id }) => id !== null);
