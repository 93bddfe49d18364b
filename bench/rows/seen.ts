import { fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { launch } from "../../apps/web/test/launch.ts";
import { delaysOf } from "../../apps/web/test/paint.ts";
import { textOf } from "../../packages/workflow/src/record/record.ts";
import { dataPath } from "../../packages/workflow/src/disk/paths.ts";
import { now, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { serveRoot } from "../serve.ts";
import { makeStore, threadIdOf } from "../store.ts";

// The window limits this number, because the page does not render invisible cards.
const times = 9;

/**
 * Time from the sync of a step until its text is in the open page of its thread. The floor is a page that writes the
 * data of its event stream.
 */
export const seen: Row = {
  name: "seen",
  async measure({ folder, command }) {
    const browser = await launch();
    const { root, hash } = await makeStore(folder);
    const threadId = threadIdOf(1);
    const log = dataPath(root, hash, threadId);
    mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
    const fd = openSync(log, "a", 0o600);
    const append = (record: Parameters<typeof textOf>[0]): number => {
      writeSync(fd, `${textOf(record)}\n`);
      fdatasyncSync(fd);
      return now();
    };
    const parameters = { prompt: "", options: { maxRounds: 100 } };
    append({ name: "bench", hash, threadId, parameters, timestamp: Date.now() });
    const served = await serveRoot(await command(), root);
    const bare = bareServer();
    try {
      const url = `http://127.0.0.1:${served.port}`;
      const floor = await delaysOf(browser, [bare.url], texts(), bare.send);
      const addresses = [`${url}/?token=${served.token}`, `${url}/threads/${threadId}`];
      const ours = await delaysOf(browser, addresses, texts(), (content) =>
        append({ role: "r", content, meta: {}, timestamp: Date.now() }),
      );
      const samples = [sampleOf(floor), sampleOf(ours)] satisfies [unknown, unknown];
      const labels = { what: "a step appears in the console", unit: "ms" };
      const floorIs = "a bare page with a bare stream";
      return [line({ ...labels, floorIs, target: { most: 100 } }, samples)];
    } finally {
      await browser.close();
      served.stop();
      await bare.stop();
    }
  },
};

const texts = (): string[] => Array.from({ length: times }, () => crypto.randomUUID());

const bareHtml = `<h1>Bare</h1><script>
new EventSource("/events").onmessage = ({ data }) => document.body.append(data);
</script>`;

/** Serves a page that appends each message of its stream. `send` sends a message and returns the time. */
function bareServer() {
  const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const encoder = new TextEncoder();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch({ url }) {
      if (!url.endsWith("/events")) {
        return new Response(bareHtml, { headers: { "Content-Type": "text/html" } });
      }
      const body = new ReadableStream<Uint8Array>({
        start(reader) {
          readers.add(reader);
          reader.enqueue(encoder.encode(": hello\n\n"));
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    },
  });
  const send = (text: string): number => {
    for (const reader of readers) reader.enqueue(encoder.encode(`data: ${text}\n\n`));
    return now();
  };
  return { url: `http://127.0.0.1:${server.port}/`, send, stop: () => server.stop(true) };
}
