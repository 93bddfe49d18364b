import { fileURLToPath } from "node:url";
import { launch } from "../../apps/web/test/launch.ts";
import { longestTask } from "../../apps/web/test/longest-task.ts";
import { openLocalHost, settled } from "../../packages/workflow/src/entry/host.ts";
import { sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { serveRoot } from "../serve.ts";
import { makeStore } from "../store.ts";

const bundle = fileURLToPath(new URL("../bundle/large.esm.js", import.meta.url));
const times = 3;

type Browser = Awaited<ReturnType<typeof launch>>;
type Page = Awaited<ReturnType<Browser["newPage"]>>;
/** Uses a page and measures the longest task of each action. */
type Use = (page: Page, measure: (act: () => Promise<unknown>) => Promise<void>) => Promise<void>;

export const busy: Row = {
  name: "busy",
  about:
    "The longest task of a page's main thread, in processor time: a thread with a table of 30,000 rows and texts of 2 MB, opened, unfolded and forked; and an editor with a graph of 500 nodes, opened, dragged, renamed, moved, laid out and undone. The floor is a page of one line.",
  async measure({ folder, command }) {
    const browser = await launch();
    const { root } = await makeStore(folder);
    const host = openLocalHost({ path: root });
    const { hash } = await host.register("large", bundle);
    const ref = await host.start({ workflow: hash, env: {}, cwd: folder });
    const { status } = await settled(host, ref);
    if (status !== "completed") throw new Error(`the thread is ${status}`);
    const served = await serveRoot(await command(), root);
    const address = `http://127.0.0.1:${served.port}`;
    /** Uses several new pages and returns a sample of their longest tasks, in milliseconds. */
    const readings = async (use: Use) => {
      const figures: number[] = [];
      for (let n = 0; n < times; n += 1) {
        const context = await browser.newContext({ reducedMotion: "reduce" });
        const page = await context.newPage();
        let longest = 0;
        await page.goto(`${address}/?token=${served.token}`);
        await use(page, async (act) => {
          longest = Math.max(longest, await longestTask(page, act));
        });
        figures.push(longest);
        await context.close();
      }
      return sampleOf(figures);
    };
    try {
      const texts = { unit: "ms", floorIs: "a page of one line", target: { most: 100 } };
      const floor = await readings((page, measure) =>
        measure(() => page.goto("data:text/html,<p>one line</p>")),
      );
      const thread = await readings(useThread(`${address}/threads/${ref.threadId}`));
      const editor = await readings(useEditor(`${address}/editor/graph`));
      return [
        line({ ...texts, what: "longest task, a thread with large values" }, [floor, thread]),
        line({ ...texts, what: "longest task, a graph of 500 nodes" }, [floor, editor]),
      ];
    } finally {
      await browser.close();
      served.stop();
    }
  },
};

const useThread =
  (url: string): Use =>
  async (page, measure) => {
    const card = (number: number) =>
      page.getByRole("article", { name: new RegExp(`^Step ${number}:`) });
    const press = (number: number, name: RegExp) =>
      card(number).getByRole("button", { name }).last().click();
    await measure(async () => {
      await page.goto(url);
      await card(1).waitFor();
    });
    for (const number of [1, 2]) {
      await card(number).scrollIntoViewIfNeeded();
      await measure(() => press(number, /^Outputs/));
      await measure(() => press(number, /^Show more/));
    }
    for (const number of [3, 4]) {
      await page.keyboard.press("End");
      await card(number).waitFor();
      await measure(() => press(number, /^Show all/));
      await measure(() => press(number, /^Show more \(/));
    }
    await measure(async () => {
      await press(4, /^Fork from here/);
      await page.getByText(/too much to be edited here/).waitFor();
    });
  };

const nodes = 500;

/** A chain of agents in rows. */
const graph = JSON.stringify({
  nodes: Array.from({ length: nodes }, (_, at) => ({
    id: `node_${at + 1}`,
    type: at === 0 ? "start" : "agent",
    x: (at % 20) * 280,
    y: Math.floor(at / 20) * 160,
    ...(at > 0 && { data: { agentName: `Agent ${at}` } }),
  })),
  connections: Array.from({ length: nodes - 1 }, (_, at) => ({
    source: `node_${at + 1}`,
    target: `node_${at + 2}`,
    sourceHandle: "output",
    targetHandle: "input",
  })),
});

const useEditor =
  (url: string): Use =>
  async (page, measure) => {
    await page.evaluate((draft) => localStorage.setItem("agentflow-workflow", draft), graph);
    const node = page.locator('[data-id="node_3"]');
    await measure(async () => {
      await page.goto(url);
      await node.waitFor();
    });
    await measure(() => node.click({ position: { x: 60, y: 14 } }));
    await measure(async () => {
      const { x = 0, y = 0 } = (await node.boundingBox()) ?? {};
      await page.mouse.move(x + 40, y + 10);
      await page.mouse.down();
      await page.mouse.move(x + 140, y + 80, { steps: 12 });
      await page.mouse.up();
    });
    await measure(async () => {
      await page.keyboard.press("F2");
      await page.keyboard.type("Another", { delay: 20 });
    });
    await measure(async () => {
      await node.focus();
      await page.keyboard.press("Control+a");
      for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowRight");
    });
    await measure(() => page.keyboard.press("l"));
    await measure(() => page.keyboard.press("Control+z"));
  };
