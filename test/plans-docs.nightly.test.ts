import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ask, create, PlanStore, planOf } from "../packages/cli-workflow/test/planned.ts";
import { removeFolders } from "../packages/cli-workflow/test/program.ts";
import { samplesIn } from "./samples.ts";
import { top } from "./source.ts";

/* Follows the guide from a request to a running plan: runs each command with a scripted model and agent. */
const guide = readFileSync(join(top, "docs/guides/plans.md"), "utf8");
const commands = samplesIn(guide, "sh").flatMap((text) => text.trim().split("\n"));

const builds = (report: string) =>
  create(
    planOf(
      { "list-repositories": [], "report-failures": ["list-repositories"] },
      {
        name: "Failing builds",
        description: report,
        trigger: { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" },
      },
    ),
  );

let store: PlanStore;
afterAll(async () => {
  await store.stop();
  removeFolders();
});

/** Returns the words of a command, with printed ids in place of `ps_…` and `wf_…`. */
function wordsOf(command: string, ids: Map<string, string>): string[] {
  const [program, ...words] = (command.match(/'[^']*'|\S+/g) ?? []).map((word) =>
    word.replace(/^'(.*)'$/, "$1").replace(/^(ps|wf)_…$/, (_, kind: string) => ids.get(kind) ?? ""),
  );
  expect(program).toBe("uncaged-workflow");
  return words;
}

test("each command of the guide does what the guide says", async () => {
  store = await PlanStore.open([ask("Which ones?"), builds("each"), builds("one line each")]);
  const ids = new Map<string, string>();
  const shown: string[] = [];
  for (const command of commands) {
    const options = { cwd: store.work, stdin: "a-token-of-github" };
    const { code, stdout, stderr } = await store.run(wordsOf(command, ids), options);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr });
    for (const [id, kind = ""] of `${stdout}${stderr}`.matchAll(/\b(ps|wf)_[\w-]{10,}/g))
      ids.set(kind, id);
    shown.push(stdout);
  }
  expect(shown[0]).toBe("Which ones?\n");
  expect(shown[1]).toMatch(/^trigger +cron 0 9 \* \* 1-5 \(Europe\/Berlin\)\nnext(?: +\S+Z\n){3}/m);
  const id = ids.get("wf") ?? "";
  const view = await store.view(id);
  expect(view.phase).toBe("active");
  expect(view.runs.map(({ status }) => status)).toEqual(["completed"]);
  expect(shown.at(-1)).toMatch(/^plans +1 active$/m);
}, 120_000);
