import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channel } from "node:diagnostics_channel";
import {
  createRoleModerator,
  END,
  eventsChannel,
  type WorkflowEvent,
  type WorkflowFn,
} from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { configPath, type Root, runDir, spendingPath } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { SpendingBook } from "../../workflow/src/disk/spending.ts";
import { answerHint } from "../../workflow/src/record/thread.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ThreadSpending } from "../../workflow/src/worker/spending.ts";
import { modelAgent } from "../src/llm/agent.ts";
import type { ModelProvider } from "../src/llm/provider.ts";
import { role } from "../src/role/role.ts";
import { paid } from "../src/role/spending.ts";
import { converse } from "../src/llm/converse.ts";
import { threadOf } from "./published.ts";

const eventsOn = channel(eventsChannel);
const folder = mkdtempSync(join(tmpdir(), "uncaged-root-limits-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let root: Root;
let calls = 0;
beforeEach(() => {
  const project = mkdtempSync(join(folder, "project-"));
  root = openRoot({ path: join(project, ".uncaged") });
  mkdirSync(runDir(root), { recursive: true });
  calls = 0;
});

const threadId = "01JTEST0000000000000000000";
const model = "claude-opus-5-5";
// An answer of 1,000 tokens costs $0.10.
const prices = { [model]: { input: 0, output: 100 } };

const provider: ModelProvider = {
  name: "a model",
  async answer() {
    calls += 1;
    return {
      ...{ id: "1", model: "", blocks: [], text: "done", thinking: "", toolUses: [] },
      ...{ stop: "end", finishReason: "stop", usage: { ...noUsage, output_tokens: 1000 } },
    };
  },
};

const ownFile = () => join(root, "../uncaged.json");
const limit = (file: string, limits: object) => writeFileSync(file, JSON.stringify({ limits }));
const bookNow = () =>
  Object.values((JSON.parse(readFileSync(spendingPath(root), "utf8")) as { days: object }).days);

/** Runs work with the spending of a thread in the storage root, and collects its events. */
async function spending<T>(work: (spending: ThreadSpending) => Promise<T>) {
  const own = new ThreadSpending(root, new SpendingBook(root, "0000000000001"), {
    ...{ threadId, cwd: join(root, ".."), env: {} },
  });
  const events: WorkflowEvent[] = [];
  const listen = (message: unknown) => {
    const event = message as WorkflowEvent;
    events.push(event);
    own.event({ ...event, step: 1 });
  };
  eventsOn.subscribe(listen);
  try {
    const result = await work(own);
    await own.settled();
    return { result, events };
  } finally {
    eventsOn.unsubscribe(listen);
  }
}

/** Returns a workflow with `steps` steps, each of which calls a model once. */
function thread(steps: number, asked = model): WorkflowFn {
  const asker = role({
    ...{ description: "Asks", systemPrompt: "", schema: z.object({}) },
    agent: modelAgent(provider, { model: asked, maxTokens: 2000 }),
  });
  return createRoleModerator({
    roles: { asker },
    moderator: ({ steps: done }) => (done.length < steps ? "asker" : END),
  });
}

const warnings = (events: readonly WorkflowEvent[]) =>
  events.filter(({ type }) => type === "tool_message").map(({ payload }) => payload?.message);

describe("a thread under the limits of its storage root", () => {
  test("waits until the next day, and asks again when it continues too early", async () => {
    limit(configPath(root), { costPerDay: 0.25 });
    const { result } = await spending((own) =>
      runThread(thread(5), { threadId, answers: ["again"], options: { prices, spending: own } }),
    );
    const roles = result.steps.map((step) => step.role);
    expect(roles).toEqual(["asker", "asker", "__wait__", "__input__", "__wait__"]);
    expect(result.status).toBe("waiting");
    const expiresAt = new Date().setUTCHours(24, 0, 0, 0);
    for (const at of [2, 4]) {
      expect(result.steps[at]?.meta).toMatchObject({
        ...{ for: "limits", limit: "costPerDay", amount: 0.25, file: configPath(root), expiresAt },
        ...{ onTimeout: "again", stepID: "asker" },
      });
    }
    expect(result.steps[2]?.content).toMatch(
      /^costPerDay \$0\.2500 of the storage root would be exceeded until .*: \$0\.2000 are spent, and the next call of claude-opus-5-5 could cost \$0\.1024; answer again once the limit is raised$/,
    );
    expect(calls).toBe(2);
    limit(configPath(root), { costPerDay: 1 });
    const { result: rest } = await spending((own) =>
      runThread(thread(5), {
        ...{ threadId, steps: result.steps, answers: ["again"] },
        options: { prices, spending: own },
      }),
    );
    expect([rest.status, calls]).toEqual(["completed", 5]);
    expect(bookNow()).toEqual([{ cost: 0.5, unpriced: 0 }]);
  });

  test("waits within a step that cannot ask, and reports the wait once", async () => {
    limit(configPath(root), { costPerDay: 0.05 });
    const request = { model, system: "", messages: [], tools: [], maxTokens: 1000 };
    const { result, events } = await spending(async (own) => {
      const ctx = threadOf({ threadId, options: { prices, spending: own } });
      const work = paid(ctx, { stepID: "s" }, () => converse(provider, request, { env: {} }));
      let isOver = false;
      void work.then(() => (isOver = true));
      // A waiting call checks the limit repeatedly.
      let looks = 0;
      const reserve = own.reserve.bind(own);
      own.reserve = (call) => reserve(call).finally(() => (looks += 1));
      await until(() => looks > 2);
      expect([isOver, calls]).toEqual([false, 0]);
      limit(configPath(root), { costPerDay: 5 });
      return await work;
    });
    expect(result.spending.cost).toBe(0.1);
    expect(warnings(events)).toEqual([expect.stringContaining("waiting: costPerDay $0.0500")]);
  });

  test("counts calls with an unknown price as unknown, and reports this once, before the first call", async () => {
    limit(configPath(root), { costPerDay: 0.01 });
    const { result, events } = await spending((own) =>
      runThread(thread(3, "house-model"), { threadId, options: { spending: own } }),
    );
    expect([result.status, calls]).toEqual(["completed", 3]);
    const [said, ...more] = warnings(events);
    expect(said).toBe(
      'the price of model house-model is not known: its calls count as unknown in the limits of the storage root; set the price in UNCAGED_WORKFLOW_PRICES: {"house-model": {"input": 1, "output": 5}}',
    );
    expect(more).toEqual([]);
    expect(events.findIndex(({ type }) => type === "tool_message")).toBeLessThan(
      events.findIndex(({ type }) => type === "llm_start"),
    );
    expect(result.steps.map(({ meta }) => meta.cost)).toEqual([null, null, null]);
    expect(bookNow()).toEqual([{ cost: 0, unpriced: 3 }]);
  });

  test.each([
    [{ costPerDay: 5 }, { costPerDay: 0.15 }, 1],
    [{ costPerDay: 0.15 }, { costPerDay: 5 }, 1],
    [{ costPerDay: 5 }, { costPerMonth: 0.25 }, 2],
    [{ costPerMonth: 5 }, {}, 3],
  ])(
    "obeys the stricter limit of the root's %p and the project's %p",
    async (own, project, most) => {
      limit(configPath(root), own);
      limit(ownFile(), project);
      await spending((spends) =>
        runThread(thread(3), { threadId, options: { prices, spending: spends } }),
      );
      expect(calls).toBe(most);
    },
  );

  test.each([
    [{ costPerDay: 0.05 }, { costPerDay: 5 }, () => configPath(root)],
    [{ costPerDay: 5 }, { costPerDay: 0.05 }, ownFile],
    [{ costPerDay: 5 }, { costPerMonth: 0.05 }, ownFile],
  ])(
    "names the file that sets the stricter limit: root %p, project %p",
    async (own, project, fileOf) => {
      limit(configPath(root), own);
      limit(ownFile(), project);
      const { result } = await spending((spends) =>
        runThread(thread(1), { threadId, options: { prices, spending: spends } }),
      );
      expect(answerHint(threadId, result.steps.at(-1) ?? null)).toBe(
        `raise the limit in ${fileOf()}, then: uncaged-workflow resume ${threadId} --input again`,
      );
    },
  );

  test.each([
    ['{"limits": {"costPerDay": -1}}', '1:27: "limits.costPerDay" must be US dollars above 0'],
    ['{"limits": {"costPerDay": "20"}}', 'above 0, such as 20, not "20"'],
    ['{"limits": {"costPerDy": 1}}', '1:26: unknown key "costPerDy"; did you mean costPerDay?'],
    ['{"limits": []}', '1:12: "limits" must be an object, not an array'],
    ['{"limit": {}}', '1:11: unknown key "limit"; did you mean limits?'],
    ["{", "1:2: "],
  ])("fails before its first call when the configuration is %s", async (text, message) => {
    writeFileSync(configPath(root), text);
    const { result } = await spending((own) =>
      runThread(thread(1), { threadId, options: { prices, spending: own } }),
    );
    const error = (result as { error?: Error }).error;
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(error?.message).toStartWith(`${configPath(root)}:1:`);
    expect(error?.message).toContain(message);
    expect(calls).toBe(0);
  });

  test("continues under the last valid limits while their file is invalid", async () => {
    limit(configPath(root), { costPerDay: 5 });
    const { result } = await spending((own) => {
      expect(own.left()).toBe(5);
      writeFileSync(configPath(root), "{");
      return runThread(thread(2), { threadId, options: { prices, spending: own } });
    });
    expect(result.status).toBe("completed");
  });
});
