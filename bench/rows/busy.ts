import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch } from "../../apps/web/test/launch.ts";
import { openLocalHost, settled } from "../../packages/workflow/src/entry/host.ts";
import { useGraph } from "../pages/graph.ts";
import { useList } from "../pages/list.ts";
import { useThread } from "../pages/thread.ts";
import { type Use, used } from "../pages/use.ts";
import { useValues } from "../pages/values.ts";
import { line, type Line, type Row } from "../row.ts";
import { serveRoot } from "../serve.ts";
import { fillStore, makeStore, until } from "../store.ts";

const bundle = (name: string) => fileURLToPath(new URL(`../bundle/${name}`, import.meta.url));
const times = 3;
const threads = 100_000;
const steps = 5_000;
const together = 20;

/**
 * The longest task of a page's main thread, in processor time, and the largest number of elements. The floor is a page
 * of one line. The pages and their uses:
 *
 * - the list of 100,000 threads: scroll, filter, search, select
 * - a thread of 5,000 steps in which 20 agents stream: open, move, zoom, fold and search, in every tab
 * - a thread with values of 20 MB: open, unfold, search, fork
 * - an editor with a graph of 500 nodes: open, drag, rename, move, lay out, undo
 */
export const busy: Row = {
  name: "busy",
  async measure({ folder, command }) {
    const browser = await launch();
    const store = await makeStore(folder);
    fillStore(store, threads);
    const host = openLocalHost({ path: store.folder });
    const values = await host.register("values", bundle("values.esm.js"));
    const large = await host.start({ workflow: values.hash, env: {}, cwd: folder });
    const { status } = await settled(host, large);
    if (status !== "completed") throw new Error(`the thread is ${status}`);
    const agents = await host.register("agents", bundle("agents.ts"));
    const stop = join(folder, "stop");
    const params = { steps, together, stop };
    const long = await host.start({
      workflow: agents.hash,
      env: {},
      cwd: folder,
      params,
      maxRounds: 1e6,
    });
    // Builds the index, as a server does in the background.
    await host.summary({});
    await until(async () => (await host.read(long)).steps.length >= steps);
    const served = await serveRoot(await command(), store.folder);
    const address = `http://127.0.0.1:${served.port}`;
    try {
      const lines: Line[] = [];
      const start = `${address}/?token=${served.token}`;
      const floor = await used(browser, start, times, (page, measure) =>
        measure(() => page.goto("data:text/html,<p>one line</p>")),
      );
      const uses: [string, Use][] = [
        [`a list of 100,000 threads`, useList(`${address}/`)],
        [
          `a thread of 5,000 steps, 20 agents streaming`,
          useThread(`${address}/threads/${long.threadId}`, steps),
        ],
        [`a thread with values of 20 MB`, useValues(`${address}/threads/${large.threadId}`)],
        [`a graph of 500 nodes`, useGraph(`${address}/editor/graph`)],
      ];
      for (const [what, use] of uses) {
        const found = await used(browser, start, times, use);
        const floorIs = "a page of one line";
        lines.push(
          line({ what: `longest task, ${what}`, unit: "ms", floorIs, target: { most: 100 } }, [
            floor.task,
            found.task,
          ]),
          line({ what: `elements, ${what}`, unit: "elements", floorIs, target: { most: 2000 } }, [
            floor.elements,
            found.elements,
          ]),
        );
      }
      return lines;
    } finally {
      writeFileSync(stop, "");
      await browser.close();
      served.stop();
    }
  },
};
