import { mkdirSync, writeFileSync } from "node:fs";
import { findChromium } from "../../apps/web/test/chromium.ts";
import { launch } from "../../apps/web/test/launch.ts";
import { type Paint, paintOf } from "../../apps/web/test/paint.ts";
import { dataPath, infoPath, threadsDir } from "../../packages/workflow/src/storage/paths.ts";
import type { Built } from "../command.ts";
import { type Sample, sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { endedLog, makeStore, type Store, threadIdOf } from "../store.ts";

const count = 10_000;
const times = 9;
const oneLine = "<p>one line</p>";
const html = { headers: { "Content-Type": "text/html" } };

/**
 * The console's first page in a browser that has never seen it, with 10,000 threads in the store, beside
 * a page of one line that a bare server sends. Without a Chromium there is nothing to measure.
 */
export const consoleRow = (built: Built): Row => ({
  name: "console",
  async measure(folder) {
    if (findChromium() === null) {
      console.error("left out: no Chromium was found");
      return [];
    }
    const store = await makeStore(folder);
    fill(store);
    const [baseline, ours] = await paints(built.command, store);
    const against = "a page of one line";
    const target = { most: 1_000 };
    const pair = (of: keyof Paint): [Sample, Sample] => [
      sampleOf(baseline.map((one) => one[of])),
      sampleOf(ours.map((one) => one[of])),
    ];
    const what = "the console with 10,000 threads";
    return [
      line({ what: `${what}: first paint`, unit: "ms", against, target }, pair("first")),
      line({ what: `${what}: its list is there`, unit: "ms", against, target }, pair("whole")),
    ];
  },
});

/** The paints of the bare page and of ours, taken in turn. */
async function paints(command: string, { root }: Store): Promise<[Paint[], Paint[]]> {
  const served = Bun.spawn([command, "serve", "--port", "0", "--json", "--root", root], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await served.stdout.getReader().read();
  const { port, token } = JSON.parse(new TextDecoder().decode(value)) as Address;
  const bare = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(oneLine, html),
  });
  const browser = await launch();
  const all: [Paint[], Paint[]] = [[], []];
  try {
    for (let n = 0; n < times + 1; n += 1) {
      all[0].push(await paintOf(browser, `http://127.0.0.1:${bare.port}/`, "p"));
      const url = `http://127.0.0.1:${port}/?token=${token}`;
      all[1].push(await paintOf(browser, url, "[data-index]"));
    }
  } finally {
    await browser.close();
    served.kill();
    await bare.stop(true);
  }
  // The first of each finds nothing warm.
  return [all[0].slice(1), all[1].slice(1)];
}

type Address = { port: number; token: string };

function fill({ root, hash }: Store): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    writeFileSync(dataPath(root, hash, threadId), endedLog(hash, threadId, 200), { mode: 0o600 });
    writeFileSync(infoPath(root, hash, threadId), "", { mode: 0o600 });
  }
}
