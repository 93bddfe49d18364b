import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { turnOf } from "./ai-sdk-runs.ts";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply } from "./wire.ts";

/* A program of the AI SDK that stops its own calls by a signal, as a user's cancel button or a timeout does. */
setDefaultTimeout(180_000);

/** The state of the first call when it is stopped. */
type Place = "asked" | "answering" | "brief" | "tool";

let models: ModelRuns;
let place: Place = "asked";

function reply(body: object): Reply {
  if (JSON.stringify(body).includes("go on")) return { text: "all done" };
  if (place === "brief" && turnOf(body) === 2) return { text: "too slow" };
  if ((place === "tool" || place === "brief") && turnOf(body) === 1)
    return { tools: [{ name: "watch", input: { n: 1 } }] };
  if (place === "answering") return { text: "I watch it all", held: new Promise(() => undefined) };
  return { fault: { kind: "hang" } };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  await models.host.register("stopping", join(import.meta.dir, "ai-sdk/stopping.ts"));
}, 180_000);
afterAll(() => models.close());

/** Stops the call of each execution when it is at the place, and returns the ended thread. */
async function stopped(run: Run) {
  const { host, servers } = models;
  const { ref, env, cwd } = run;
  for (let executions = 1; ; executions += 1) {
    const came = () => servers.claude.came;
    const isThere = async () => {
      if (place === "tool") return models.marksOf(run).length >= executions;
      if (place === "asked")
        return came().filter((one) => one.counted.requests === 0).length >= executions;
      const events = host.log(ref, { only: ["llm_token"] });
      return (await Array.fromAsync(events)).length >= executions;
    };
    await until(isThere);
    writeFileSync(join(cwd, "stop"), "");
    await until(() => !existsSync(join(cwd, "stop")));
    const view = await settled(host, ref);
    if (view.status !== "interrupted") return { view, executions };
    await host.control(ref, { kind: "resume", env, cwd });
  }
}

const cases = (["generate", "stream"] as const).flatMap((way) =>
  (["asked", "answering", "tool"] as const)
    .filter((one) => way === "stream" || one !== "answering")
    .flatMap((one) => (["", "stopped", "end"] as const).map((die) => ({ way, at: one, die }))),
);

test.each(cases)(
  "a program that stops its $way call in the state '$at' continues with another call (kill: '$die')",
  async ({ way, at, die }) => {
    place = at;
    const run = await models.start("stopping", way, die);
    const { view, executions } = await stopped(run);
    expect(view.status).toBe("completed");
    expect(executions).toBe(die === "" ? 1 : 2);
    const said = way === "generate" ? "AbortError" : at === "answering" ? /^I wa.*\|$/ : "|";
    const content = view.steps.at(-1)?.content ?? "";
    expect(content).toEndWith(" all done");
    expect(content.slice(0, -" all done".length)).toMatch(said);
    const { came } = models.servers.claude;
    const isOther = ({ body }: { body: object }) => JSON.stringify(body).includes("go on");
    // A stopped call is not recorded, and its connection is closed. The other call is made once.
    expect(came.filter(isOther).length).toBe(1);
    const first = came.filter((one) => !isOther(one));
    expect(first.length).toBe(at === "tool" ? 1 : executions);
    for (const { closed } of first) await closed;
    const marks = at === "tool" ? Array.from({ length: executions }, () => "1 toolu_0_0") : [];
    expect(models.marksOf(run)).toEqual(marks);
    await models.expectCounted(run.ref);
  },
);

test("a tool that stops at its own timeout has failed, and does not run again after a kill", async () => {
  place = "brief";
  const { host } = models;
  const run = await models.start("stopping", "generate brief", "end");
  const { ref, env, cwd } = run;
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env, cwd });
  expect(await settled(host, ref)).toMatchObject({
    ...{ status: "completed", steps: [{ content: "too slow all done" }] },
  });
  expect(models.marksOf(run)).toEqual(["1 toolu_0_0"]);
  expect(models.servers.claude.came.length).toBe(3);
});

test("a tool that the program's timeout stops runs again after a kill", async () => {
  place = "tool";
  const run = await models.start("stopping", "generate late", "stopped");
  const { view, executions } = await stopped(run);
  expect([view.status, executions]).toEqual(["completed", 2]);
  expect(models.marksOf(run)).toEqual(["1 toolu_0_0", "1 toolu_0_0"]);
});
