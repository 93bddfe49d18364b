import type { Use } from "./use.ts";

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

/** Opens a graph in the editor. Drags, renames and moves a node, lays out the graph, and undoes changes. */
export const useGraph =
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
