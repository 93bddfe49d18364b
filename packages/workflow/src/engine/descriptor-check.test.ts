import { expect, test } from "bun:test";
import { noAttempts } from "../../test/fixtures/no-attempts.ts";
import { RoleSchemas } from "../bundle/role-schemas.ts";
import type { WorkflowFn } from "../contract/contract.ts";
import { DescriptorCheck } from "./descriptor-check.ts";
import { ThreadEngine } from "./engine.ts";

const schema = { type: "object", required: ["files"] };
const step = { role: "planner", content: "", meta: {} };

/** Drives a workflow, and returns its written records and warnings in order. */
function drive(run: WorkflowFn, maxRounds = 100) {
  const written: string[] = [];
  const schemas = new RoleSchemas({
    description: "x",
    roles: { planner: { description: "plans", schema } },
  });
  const check = new DescriptorCheck(
    schemas,
    (_, { role }) => void written.push(`warns of ${role}`),
  );
  const engine = new ThreadEngine(
    { run, prompt: "", steps: [], options: { threadId: "T", maxRounds } },
    {
      log: {
        append: async (text) => {
          written.push((JSON.parse(text) as typeof step).role);
          return { paused: false };
        },
      },
      check,
      attempts: noAttempts,
      scope: (fn) => fn(),
      note: () => undefined,
      onRefused: () => undefined,
      judge: async () => ({ validate: () => null }),
      onWait: () => undefined,
      mask: (text) => text,
      now: Date.now,
      closingMs: 50,
    },
  );
  engine.start();
  return { engine, check, written };
}

const endings: [string, WorkflowFn, number?][] = [
  [
    "returns",
    async function* () {
      yield step;
      return { returnCode: 0, summary: "" };
    },
  ],
  [
    "throws",
    async function* () {
      yield step;
      throw new Error("at once");
    },
  ],
  [
    "yields no step",
    async function* () {
      yield step;
      yield { role: "" } as typeof step;
      return { returnCode: 0, summary: "" };
    },
  ],
  [
    "has no rounds left",
    async function* () {
      yield step;
      return { returnCode: 0, summary: "" };
    },
    1,
  ],
];
for (const [what, run, maxRounds] of endings) {
  test(`a warning about the first step comes before the end of a workflow that then ${what}`, async () => {
    const { engine, written } = drive(run, maxRounds);
    await engine.done;
    expect(written).toEqual(["planner", "warns of planner", "__end__"]);
  });
}

test("a thread that is killed while its failure waits for the checks of steps gets one end record", async () => {
  const thrown = Promise.withResolvers<void>();
  const { engine, written } = drive(async function* () {
    yield step;
    thrown.resolve();
    throw new Error("at once");
  });
  await thrown.promise;
  await engine.kill();
  expect((await engine.done).kind).toBe("ended");
  expect(written.filter((role) => role === "__end__")).toHaveLength(1);
});

test("a thread that is released while its failure waits for the checks of steps does not get an end record", async () => {
  const thrown = Promise.withResolvers<void>();
  const { engine, check, written } = drive(async function* () {
    yield step;
    thrown.resolve();
    throw new Error("at once");
  });
  await thrown.promise;
  const settled = check.settled();
  await engine.release();
  expect((await engine.done).kind).toBe("released");
  await settled;
  expect(written).not.toContain("__end__");
});
