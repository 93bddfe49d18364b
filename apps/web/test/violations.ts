import axe from "axe-core";
import type { Page } from "playwright-core";

/** What keeps the focus within what is open: it has the focus for no longer than it takes to lead it back. */
const guards = "[data-base-ui-focus-guard]";

/** What axe finds wrong in a page, a line each; by all of its rules, or by those that are named. */
export async function violationsOf(page: Page, ...rules: string[]): Promise<string[]> {
  await page.evaluate(stillness);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    ({ exclude, values }) =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(
        { include: document, exclude: [exclude] },
        {
          resultTypes: ["violations"],
          ...(values.length > 0 && { runOnly: { type: "rule", values } }),
        },
      ),
    { exclude: guards, values: rules },
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}

/** Shows a page in the dark. */
export async function darken(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => matchMedia("(prefers-color-scheme: dark)").matches);
}

/** Waits in a page until what changes over a moment, such as a colour, has done so. */
async function stillness(): Promise<void> {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  const ending = document
    .getAnimations()
    .filter(({ effect }) => effect?.getTiming().iterations !== Number.POSITIVE_INFINITY);
  await Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
}
