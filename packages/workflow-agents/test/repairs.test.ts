import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, retryOptions, settled } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/storage/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { openaiServer } from "./openai-server.ts";
import type { Fault, Reply, WireServer } from "./wire.ts";

/* An answer that does not fit is asked for again in its conversation, which is recorded as all of it is. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-repairs-"));
const host = openLocalHost({ path: join(folder, "root") });
const root = openRoot({ path: join(folder, "root") });

/** What the model answers, turn by turn, and what happens at one of them, once. */
let answers: string[] = [];
let event: { turn: number; fault?: Fault } | null = null;

function reply(body: object): Reply {
  const { messages } = body as { messages: { role: string }[] };
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const now = event?.turn === turn ? event : null;
  if (!now) return { text: answers[turn] ?? '{"done":true}' };
  event = null;
  if (now.fault) return { fault: now.fault };
  return { text: answers[turn], held: signalWorkers(root, "SIGKILL"), fault: { kind: "hang" } };
}

let servers: Record<"claude" | "gpt", WireServer<object>>;
beforeAll(async () => {
  servers = { claude: await anthropicServer(reply), gpt: await openaiServer(reply) };
  await host.register("turns", join(import.meta.dir, "turns/turns.ts"));
}, 180_000);
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

type Model = keyof typeof servers;

async function start(model: Model, given: string[], at: typeof event = null) {
  [answers, event] = [given, at];
  const { claude, gpt } = servers;
  for (const server of [claude, gpt]) server.came.splice(0);
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ ANTHROPIC_API_KEY: claude.key, ANTHROPIC_BASE_URL: claude.url },
    ...{ OPENAI_API_KEY: gpt.key, OPENAI_BASE_URL: gpt.url },
  };
  const surroundings = { env, cwd: folder };
  const ref = await host.start({ workflow: "turns", prompt: model, ...surroundings });
  return { ref, surroundings, view: await settled(host, ref) };
}

const bodiesOf = (model: Model): string[] =>
  servers[model].came.map(({ body }) => JSON.stringify(body));

const bad = ['{"done":"yes"}', '{"done":"no"}'];

describe.each(["claude", "gpt"] as const)("the repairs of %s", (model) => {
  test("go on after a kill as if nothing had been", async () => {
    expect((await start(model, bad)).view.status).toBe("completed");
    const whole = bodiesOf(model);
    expect(whole).toHaveLength(3);
    for (const turn of [1, 2]) {
      const { ref, view, surroundings } = await start(model, bad, { turn });
      expect(view.status).toBe("interrupted");
      await host.control(ref, { kind: "resume", ...surroundings });
      expect((await settled(host, ref)).status).toBe("completed");
      // The turn at which it died, once more, and no other.
      expect(bodiesOf(model)).toEqual(whole.toSpliced(turn, 0, whole[turn] ?? ""));
    }
  });

  test("go on in a retry after an overload, and begin anew where they came to nothing", async () => {
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
