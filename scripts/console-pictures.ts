import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLocalHost } from "@uncaged/workflow/host";
import { buildConsole } from "../apps/web/test/built.ts";
import { demo } from "../apps/web/test/demo.ts";
import { launch } from "../apps/web/test/launch.ts";
import { ServingProcess, stopServing } from "../packages/server/test/serving.ts";
import { bundleOf } from "../packages/workflow/test/fixtures/bundles.ts";
import { openPlans } from "../packages/workflow-plan/src/entry/service.ts";

/*
 * Takes the pictures of the guide to the console: each page at two widths, light and dark. `bun
 * scripts/console-pictures.ts` takes all pictures; with names, only the pictures of these pages.
 */
const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const out = path("docs/guides/console");
const looks = [1440, 380].flatMap((width) =>
  (["light", "dark"] as const).map((theme) => ({ width, theme })),
);

await buildConsole();
const serving = new ServingProcess();
serving.more = { UNCAGED_WORKFLOW_IDLE_MS: "60000" };
await serving.begin();
const browser = await launch();
try {
  const pages = Object.entries(await fill());
  const wanted = process.argv.slice(2);
  const chosen = wanted.length > 0 ? pages.filter(([name]) => wanted.includes(name)) : pages;
  mkdirSync(out, { recursive: true });
  for (const { width, theme } of looks) {
    const context = await browser.newContext({
      ...{ viewport: { width, height: width > 1000 ? 900 : 780 }, colorScheme: theme },
      ...{ reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" },
    });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    for (const [name, [address, text]] of chosen) {
      const url = new URL(address, `http://127.0.0.1:${serving.port}`);
      url.searchParams.set("token", serving.token);
      await page.goto(url.href);
      // A phone hides some content that has loaded.
      const state = width > 1000 ? "visible" : "attached";
      await page.locator("main").getByText(text).first().waitFor({ state });
      await page.locator("[class*=shimmer]").first().waitFor({ state: "detached" });
      // Markdown and the buttons below it appear when their module has loaded.
      await page.waitForTimeout(500);
      const { data } = await session.send("Page.captureScreenshot", {
        format: "webp",
        quality: 80,
      });
      writeFileSync(join(out, `${name}-${width}-${theme}.webp`), Buffer.from(data, "base64"));
    }
    await context.close();
  }
} finally {
  await browser.close();
  await stopServing();
}

/** Fills the storage root. Returns the address of each page, with a text that shows that the page is complete. */
async function fill(): Promise<Record<string, readonly [address: string, text: RegExp]>> {
  const compared = await evaluate();
  const threads = await demo(serving);
  await run("add", "research-team", path("examples/research-team/team.json"));
  await createPlan();
  return {
    threads: ["/", /^Runs/],
    thread: [`/threads/${threads.mail}`, /^will be with you on Tuesday$/],
    error: [`/threads/${threads.failed}`, /no date/],
    graph: [`/threads/${threads.notes}?view=graph`, /Find the last tag/],
    compare: [`/threads/${threads.solved}/compare/${threads.forked}`, /the same/],
    question: [`/threads/${threads.asking}?step=2`, /Your answer/],
    inbox: ["/inbox", /Version 2/],
    workflows: ["/workflows", /release-notes/],
    versions: ["/workflows/sort-mail", /100\s?%/],
    add: ["/add", /Drop a file here/],
    plans: ["/plans", /Weekly report/],
    plan: ["/plans/wf_report", /Collect the merged changes/],
    evals: ["/evals", /orders\.jsonl/],
    eval: [`/evals/${compared}`, /partial/],
    "graph-editor": ["/editor/graph/research-team", /./],
    "steps-editor": ["/editor/steps/release-notes", /Find the last tag/],
  };
}

async function run(...args: string[]): Promise<unknown> {
  const child = serving.spawn(...args, "--json");
  const [text, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${args.join(" ")}: ${complaint}${text}`);
  return JSON.parse(text);
}

async function createPlan(): Promise<void> {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  const at = new Date().toISOString();
  const step = (id: string, description: string, ...depends_on: string[]) => ({
    ...{ id, description, agent: "claude" as const, inputs: {}, depends_on },
  });
  await plans.create({
    ...{ schema_version: "1.0", id: "wf_report", name: "Weekly report" },
    description: "Reports the changes of the week",
    trigger: { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" },
    steps: [
      step("changes", "Collect the merged changes"),
      step("failures", "Collect the failed builds"),
      step("report", "Write the report", "changes", "failures"),
    ],
    failure_policy: { on_step_failure: "ask_user", max_retries: 1, retry_delay_ms: 0 },
    ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
  });
  plans.close();
}

/** Compares two versions of a workflow in an eval. Returns the eval's id. */
async function evaluate(): Promise<string> {
  const sorter = (known: string) =>
    bundleOf(`yield step("sorter", ${known}.test(input.prompt) ? "refund" : "other", {});`).replace(
      "a test",
      "Sorts the mail of customers",
    );
  const file = (name: string, text: string) => serving.write(name, text);
  const add = (name: string, known: string) => run("add", "sort-mail", file(name, sorter(known)));
  const { hash } = (await add("v1.esm.js", "/money/")) as { hash: string };
  await add("v2.esm.js", "/money|refund|partial/");
  const cases = ["my money back", "a partial refund", "refund order 1042", "where is my order"];
  const lines = cases.map((prompt) =>
    JSON.stringify({
      ...{ id: prompt.replaceAll(" ", "-"), prompt },
      expected: prompt.endsWith("my order") ? "other" : "refund",
    }),
  );
  file("orders.jsonl", lines.join("\n"));
  file(
    "score.ts",
    "export default ({ expected }, { steps }) => ({ score: steps[0].content === expected ? 1 : 0 });",
  );
  const versions = `sort-mail@${hash},sort-mail`;
  const found = await run("eval", versions, "orders.jsonl", "--score", "score.ts");
  return (found as { id: string }).id;
}
