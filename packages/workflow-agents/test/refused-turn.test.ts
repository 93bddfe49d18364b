import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Host, retryOptions, settled, type ThreadView } from "@uncaged/workflow/host";
import { programWords } from "../../cli-workflow/test/command.ts";
import { type Model, ModelRuns } from "./model-runs.ts";
import type { Reply } from "./wire.ts";

/*
 * Tests a recorded turn that a service refuses. A retry sends the turn again, but the fork in the error's hint does
 * not.
 */
let models: ModelRuns;
let host: Host;
let isBad = true;
const invalid = "messages.1.content.0: this block can't be taken back";
let refusal = invalid;

// The service refuses the second request because of content from the recorded first turn.
function reply(body: object): Reply {
  const sent = JSON.stringify(body);
  if (sent.includes("marked 666")) {
    const fault = { kind: "status", status: 400, type: "invalid_request_error" } as const;
    return { fault: { ...fault, message: refusal } };
  }
  if (sent.includes("marked 1")) return { text: '{"done":true}' };
  return { tools: [{ name: "mark", input: { n: isBad ? 666 : 1 } }] };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host } = models);
  await host.register("turns", join(import.meta.dir, "turns/turns.ts"));
}, 180_000);
afterAll(() => models.close());

type Printed = { threadId: string; status: string; error?: unknown };

const errorOf = (view: ThreadView): string[] =>
  view.status === "failed" ? [view.result.summary, view.error?.hint ?? ""] : [];

const unsafe = "the input was flagged by the content management policy";

describe.each<[Model, string]>([
  ["claude", invalid],
  ["gpt", invalid],
  ["responses", invalid],
  ["gpt", unsafe],
])("a thread of %s whose recorded turn is refused with '%s'", (model, message) => {
  test("fails in a retry too, and the hint has the fork command that continues", async () => {
    isBad = true;
    refusal = message;
    const { ref, cwd, env } = await models.start("turns", model);
    const failed = await settled(host, ref);
    expect(failed.status).toBe("failed");
    expect(errorOf(failed)[0]).toContain(message);
    isBad = false;
    const retry = await host.fork(ref, { ...retryOptions(failed, { env }) });
    const again = await settled(host, retry);
    expect(again.status).toBe("failed");
    const [, command = ""] =
      /: uncaged-workflow (fork \S+ --anew)$/.exec(errorOf(again)[1] ?? "") ?? [];
    expect(command).toBe(`fork ${retry.threadId} --anew`);
    const child = Bun.spawn([...programWords, ...command.split(" "), "--wait", "--json"], {
      ...{ cwd, stdout: "pipe", stderr: "pipe" },
      env: { ...env, HOME: cwd, UNCAGED_WORKFLOW_STORAGE_ROOT: host.root },
    });
    const printed = JSON.parse(await new Response(child.stdout).text()) as Printed;
    expect([printed.error, printed.status]).toEqual([undefined, "completed"]);
    expect(models.marksOf({ ref, cwd, env }).map((line) => line.split(" ")[0])).toEqual([
      "666",
      "1",
    ]);
  });
});
