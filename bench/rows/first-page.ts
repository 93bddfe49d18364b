import { mkdirSync, writeFileSync } from "node:fs";
import { launch } from "../../apps/web/test/launch.ts";
import { loadOf } from "../../apps/web/test/paint.ts";
import { dataPath, infoPath, threadsDir } from "../../packages/workflow/src/disk/paths.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { serveRoot } from "../serve.ts";
import { endedLog, makeStore, type Store, threadIdOf } from "../store.ts";

const count = 10_000;
const html = { headers: { "Content-Type": "text/html" } };

export const firstPage: Row = {
  name: "firstPage",
  about:
    "From the first request of a browser with an empty cache until the list of threads is rendered, with 10,000 threads in the storage root. The floor is a page of one line from a bare server.",
  async measure({ folder, command }) {
    const browser = await launch();
    const store = await makeStore(folder);
    fill(store);
    const served = await serveRoot(await command(), store.root);
    const bare = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<p>one line</p>", html),
    });
    try {
      const url = `http://127.0.0.1:${served.port}/?token=${served.token}`;
      const floor = () => loadOf(browser, `http://127.0.0.1:${bare.port}/`, "p");
      const ours = () => loadOf(browser, url, "[data-index]");
      await inTurn(1, floor, ours);
      const samples = await inTurn(9, floor, ours);
      const texts = { what: "the console's list of 10,000 threads is rendered", unit: "ms" };
      return [line({ ...texts, floorIs: "a page of one line", target: { most: 1000 } }, samples)];
    } finally {
      await browser.close();
      served.stop();
      await bare.stop(true);
    }
  },
};

function fill({ root, hash }: Store): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    writeFileSync(dataPath(root, hash, threadId), endedLog(hash, threadId, 200), { mode: 0o600 });
    writeFileSync(infoPath(root, hash, threadId), "", { mode: 0o600 });
  }
}
