import { beforeAll, test } from "bun:test";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { open, useConsole } from "./browser.ts";

/** Names that every object has of its own accord. */
const names = ["constructor", "toString", "hasOwnProperty", "valueOf"];
const described = names.map((name) => `["${name}"]: { description: "Does it", schema: {} }`);

/** It ends in a failure of what publishes as \`__proto__\`, a name that no role can have. */
const inherited = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  for (const name of ${JSON.stringify(names)}.slice(input.steps.length)) {
    yield step(name, "did " + name, { usage: { input_tokens: 7 }, cost: 0.01, model: name });
  }
  channel("uncaged.workflow").publish({ type: "llm_token", stepID: "__proto__", payload: { delta: "odd" } });
  throw new Error("that was all");
`).replace("roles: {}", `roles: { ${described.join(", ")} }`)}`;

const serving = useConsole();

beforeAll(async () => {
  await serving.add("inherited", inherited);
}, 600_000);

test("roles with the names of what every object has are shown on every page", async () => {
  const id = await serving.run("inherited");
  await serving.until(id, "failed");
  const page = await open(serving, `/threads/${id}`);
  for (const name of names) await page.getByText(`did ${name}`, { exact: true }).waitFor();
  const about = page.getByRole("complementary", { name: "About the thread" });
  for (const name of names) await about.getByRole("rowheader", { name, exact: true }).waitFor();
  for (const view of ["Graph", "Timeline"]) {
    await page.getByRole("tab", { name: view }).click();
    const panel = page.getByRole("tabpanel");
    for (const name of [...names, "__proto__"]) {
      await panel.getByText(name, { exact: true }).first().waitFor();
    }
  }
  const origin = `http://127.0.0.1:${serving.port}`;
  await page.goto(`${origin}/workflows/inherited?view=roles`);
  for (const name of names) await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.getByRole("tab", { name: "Graph" }).click();
  for (const name of names) {
    await page.getByRole("figure").getByText(name, { exact: true }).waitFor();
  }
  const keep = { atStep: 2 };
  const fork = await serving.ok<{ threadId: string }>(`/api/threads/${id}/fork`, { keep });
  await serving.until(fork.threadId, "failed");
  await page.goto(`${origin}/threads/${fork.threadId}/compare/${id}`);
  await page.getByText(/The two are the same/).waitFor();
  await page.goto(`${origin}/`);
  await page.getByRole("table", { name: "Threads" }).getByText("valueOf").first().waitFor();
}, 600_000);
