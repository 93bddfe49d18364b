import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Host, Observed } from "@uncaged/workflow/host";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { does, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* A refresh reads only the new part of an open run's log. */
setDefaultTimeout(90_000);
afterEach(removeStores);

/** Returns a host, and the list of all items that its observers receive. */
function noting(host: Host): { host: Host; seen: string[] } {
  const seen: string[] = [];
  const shown = (item: Observed) => (item.kind === "step" ? `step ${item.number}` : item.kind);
  async function* observe(...given: Parameters<Host["observe"]>) {
    for await (const item of host.observe(...given)) {
      seen.push(shown(item));
      yield item;
    }
  }
  return { host: { ...host, observe }, seen };
}

test("a repeated read of an open run reads only new records, and results in the same rows", async () => {
  const home = new TestHome();
  const { host, seen } = noting(home.host);
  const plans = home.open({ host });
  const steps = [does("a", "say a"), does("b", "wait", ["a"]), does("c", "say c", ["b"])];
  const { id } = await plans.create(workflow(plan(steps)));
  const { runId } = await plans.confirm(id);
  const statuses = async () => (await plans.show(id)).runs[0]?.steps.map(({ status }) => status);
  await until(async () => (await statuses())?.[1] === "running");
  expect(seen.filter((item) => item === "start")).toHaveLength(1);
  expect(new Set(seen).size).toBe(seen.length);
  const before = seen.length;
  for (let n = 0; n < 5; n += 1) await plans.refresh();
  expect(seen).toHaveLength(before);
  writeFileSync(join(home.store.folder, "go"), "");
  await until(async () => (await plans.show(id)).phase === "completed");
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.at(-1)).toBe("end");
  const rows = () => [
    plans.findRun(runId ?? ""),
    plans.database.rows("SELECT * FROM step_runs ORDER BY rowid"),
    plans.database.rows("SELECT * FROM sessions ORDER BY rowid"),
  ];
  const grown = JSON.stringify(rows());
  await plans.rebuild();
  expect(JSON.stringify(rows())).toBe(grown);
});
