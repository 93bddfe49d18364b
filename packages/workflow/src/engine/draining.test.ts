import { expect, test } from "bun:test";
import { noAttempts } from "../../test/fixtures/no-attempts.ts";
import { drainsOnPause, type Pause, type Step, type WorkflowFn } from "../contract/contract.ts";
import { ThreadEngine } from "./engine.ts";

const until = async (condition: () => boolean): Promise<void> => {
  const late = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > late) throw new Error("it never came to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** Drives a workflow that finishes the work in flight before it pauses. */
function drive(run: WorkflowFn) {
  const roles: string[] = [];
  const engine = new ThreadEngine(
    {
      run: Object.assign(run, { [drainsOnPause]: true }),
      ...{ prompt: "", steps: [], options: { threadId: "T", maxRounds: 100 } },
    },
    {
      log: {
        append: async (text) => {
          roles.push((JSON.parse(text) as Step).role);
          return { paused: false };
        },
      },
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
  return { engine, roles };
}

const step = (role: string) => ({ role, content: "", meta: {} });

/** Yields the result in flight, then one more step. */
const workflow = (pulled: { pause?: Pause }): WorkflowFn =>
  async function* (_, { pause }) {
    pulled.pause = pause;
    yield step("a");
    while (!pause?.isWanted()) await new Promise((resolve) => setImmediate(resolve));
    yield step("in-flight");
    await pause.over();
    yield step("next");
    return { returnCode: 0, summary: "" };
  };

test("a draining workflow yields its work in flight, then pauses", async () => {
  const { engine, roles } = drive(workflow({}));
  await until(() => roles.length === 1);
  engine.pause();
  expect(engine.status).toBe("running");
  await until(() => engine.status === "paused");
  expect(roles).toEqual(["a", "in-flight"]);
  expect(engine.resume()).toBe(true);
  await engine.done;
  expect(roles).toEqual(["a", "in-flight", "next", "__end__"]);
});

test("a kill ends the pause of a drained workflow", async () => {
  const pulled: { pause?: Pause } = {};
  const { engine, roles } = drive(workflow(pulled));
  await until(() => roles.length === 1);
  engine.pause();
  await until(() => engine.status === "paused");
  await engine.kill();
  expect((await engine.done).kind).toBe("ended");
  await pulled.pause?.over();
  expect(roles).toEqual(["a", "in-flight", "__end__"]);
});
