import type { Locator, Page } from "playwright-core";

export type Point = { x: number; y: number };

/** Waits until an element does not move, after the view is fitted and the drawing laid out. */
export async function settled(element: Locator): Promise<void> {
  await element.waitFor();
  await element.evaluate(async (node) => {
    const position = () => JSON.stringify(node.getBoundingClientRect());
    let [before, frames] = [position(), 0];
    while (frames < 6) {
      await new Promise(requestAnimationFrame);
      const now = position();
      frames = now === before ? frames + 1 : 0;
      before = now;
    }
  });
}

/** The middle of an element at rest. */
export async function middleOf(element: Locator): Promise<Point> {
  await settled(element);
  const box = await element.boundingBox();
  if (!box) throw new Error(`${String(element)} is not on the page`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Drags with the mouse from one element to another or to a point. Waits until both are uncovered. */
export async function drag(page: Page, from: Locator, to: Locator | Point): Promise<void> {
  const end = "x" in to ? to : await middleOf(to);
  const begin = await middleOf(from);
  await from.hover();
  await page.mouse.down();
  await page.mouse.move((begin.x + end.x) / 2, (begin.y + end.y) / 2, { steps: 4 });
  await page.mouse.move(end.x, end.y, { steps: 4 });
  if (!("x" in to)) await follow(page, to);
  await page.mouse.up();
}

/**
 * Moves the pointer onto an element. The drawing pans while a line is drawn near its border, so an end near the border
 * does not rest until the pointer has followed it.
 */
async function follow(page: Page, target: Locator): Promise<void> {
  const isUnder = () => target.evaluate((element) => element.matches(":hover"));
  while (!(await isUnder())) {
    const box = await target.boundingBox();
    if (box) await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
}
