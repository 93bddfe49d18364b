import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Host, retryOptions, settled } from "@uncaged/workflow/host";
import { type Model, ModelRuns } from "./model-runs.ts";
import type { Fault, Reply } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/*
 * Tests repairs: the model is called again in the same conversation after an invalid answer. The journal records these
 * turns like all others.
 */
let models: ModelRuns;
let host: Host;
let servers: ModelRuns["servers"];

/** The model's answers by turn. */
let answers: string[] = [];
let event: { turn: number; fault?: Fault } | null = null;

function reply(body: object): Reply {
  const { messages } = body as { messages: { role: string }[] };
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const now = event?.turn === turn ? event : null;
  if (!now) return { text: answers[turn] ?? '{"done":true}' };
  event = null;
  if (now.fault) return { fault: now.fault };
  return { text: answers[turn], held: models.kill(), fault: { kind: "hang" } };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host, servers } = models);
  await host.register("turns", join(import.meta.dir, "turns/turns.ts"));
}, 180_000);
afterAll(() => models.close());

async function start(model: Model, given: string[], at: typeof event = null) {
  [answers, event] = [given, at];
  const { ref, ...surroundings } = await models.start("turns", model);
  return { ref, surroundings, view: await settled(host, ref) };
}

const bodiesOf = (model: Model): string[] =>
  servers[model].came.map(({ body }) => JSON.stringify(body));

const bad = ['{"done":"yes"}', '{"done":"no"}'];

describe.each(some(["claude", "gpt"] as const))("the repairs of %s", (model) => {
  test("continue after a kill with only the interrupted turn repeated", async () => {
    expect((await start(model, bad)).view.status).toBe("completed");
    const whole = bodiesOf(model);
    expect(whole).toHaveLength(3);
    for (const turn of [1, 2]) {
      const { ref, view, surroundings } = await start(model, bad, { turn });
      expect(view.status).toBe("interrupted");
      await host.control(ref, { kind: "resume", ...surroundings });
      expect((await settled(host, ref)).status).toBe("completed");
      expect(bodiesOf(model)).toEqual(whole.toSpliced(turn, 0, whole[turn] ?? ""));
    }
  });

  test("continue in a retry after an overload, and restart in a retry if all repairs failed", async () => {
    const fault: Fault = { kind: "status", status: 529, type: "overloaded_error", message: "busy" };
    const busy = await start(model, bad, { turn: 2, fault });
    expect(busy.view.status).toBe("failed");
    const retried = async ({ ref, surroundings }: typeof busy) => {
      const fork = await host.fork(ref, retryOptions(await host.read(ref), surroundings));
      return (await settled(host, fork)).status;
    };
    expect(await retried(busy)).toBe("completed");
    expect(bodiesOf(model)).toHaveLength(4);
    expect(bodiesOf(model)[3]).toBe(bodiesOf(model)[2] ?? "");

    const never = await start(model, [...bad, "no"]);
    expect(never.view.status).toBe("failed");
    expect(bodiesOf(model)).toHaveLength(3);
    answers = [];
    expect(await retried(never)).toBe("completed");
    expect(bodiesOf(model)).toHaveLength(4);
    expect(bodiesOf(model)[3]).toBe(bodiesOf(model)[0] ?? "");
  });
});
