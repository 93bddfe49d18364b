import { fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { findChromium } from "../../apps/web/test/chromium.ts";
import { launch } from "../../apps/web/test/launch.ts";
import { delaysOf } from "../../apps/web/test/paint.ts";
import { textOf } from "../../packages/workflow/src/log/record.ts";
import { dataPath } from "../../packages/workflow/src/storage/paths.ts";
import type { Built } from "../command.ts";
import { now, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, threadIdOf } from "../store.ts";

// No more than fit into the window: a card that is not visible is not rendered.
const times = 9;

/**
 * A step that is on the disk is seen in the console's page of its thread, beside a page of a bare server
 * that writes down what its event stream brings.
 */
export const page = (built: Built): Row => ({
  name: "page",
  async measure(folder) {
    if (findChromium() === null) {
      console.error("left out: no Chromium was found");
      return [];
    }
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
    const served = Bun.spawn([built.command, "serve", "--port", "0", "--json", "--root", root], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const bare = bareServer();
    const browser = await launch();
    try {
      const { value } = await served.stdout.getReader().read();
      const { port, token } = JSON.parse(new TextDecoder().decode(value)) as Address;
      const url = `http://127.0.0.1:${port}`;
      const baseline = await delaysOf(browser, [bare.url], texts(), bare.send);
      const addresses = [`${url}/?token=${token}`, `${url}/threads/${threadId}`];
      const ours = await delaysOf(browser, addresses, texts(), (content) =>
        append({ role: "r", content, meta: {}, timestamp: Date.now() }),
      );
      const what = "a committed step is seen in the console";
      const against = "a bare page with a bare stream";
      const samples = [sampleOf(baseline), sampleOf(ours)] satisfies [unknown, unknown];
      return [line({ what, unit: "ms", against, target: { most: 100 } }, samples)];
    } finally {
      await browser.close();
      served.kill();
      await bare.stop();
    }
  },
});

type Address = { port: number; token: string };

const texts = (): string[] => Array.from({ length: times }, () => crypto.randomUUID());

const bareHtml = `<h1>Bare</h1><script>
new EventSource("/events").onmessage = ({ data }) => document.body.append(data);
</script>`;

/** A page that appends what its stream brings; `send` gives the moment at which it sent. */
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
