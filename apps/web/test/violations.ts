import axe from "axe-core";
import type { Page } from "playwright-core";

/** Focus guards of a dialog. They have the focus only while they redirect the focus. */
const guards = "[data-base-ui-focus-guard]";

/** The axe violations of a page, one per line, by all rules or by the named rules. */
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

export async function darken(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => matchMedia("(prefers-color-scheme: dark)").matches);
}

/** Waits until animations and transitions have ended. */
async function stillness(): Promise<void> {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  const ending = document
    .getAnimations()
    .filter(({ effect }) => effect?.getTiming().iterations !== Number.POSITIVE_INFINITY);
  await Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
}
