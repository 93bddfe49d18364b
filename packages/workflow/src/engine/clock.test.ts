import { noAttempts } from "../../test/fixtures/no-attempts.ts";
import { describe, expect, test } from "bun:test";
import { WAIT } from "../contract/contract.ts";
import { until } from "../../test/fixtures/until.ts";
import { ThreadEngine } from "./engine.ts";

const hour = 3_600_000;
const year = 365 * 24 * hour;

function drive(wait: Record<string, unknown> | null, synced?: Promise<void>) {
  const clock = { now: 1_800_000_000_000 };
  const lines: { role: string; timestamp: number; meta: Record<string, unknown> }[] = [];
  const engine = new ThreadEngine(
    {
      prompt: "",
      steps: [],
      options: { threadId: "T", maxRounds: 100 },
      run: async function* () {
        for (const role of ["a", "b", "c"]) {
          clock.now += role === "b" ? -hour : 10 * year;
          yield { role, content: "", meta: {} };
        }
        if (wait) yield { role: WAIT, content: "", meta: { for: "leave", ...wait } };
        return { returnCode: 0, summary: "" };
      },
    },
    {
      log: {
        append: async (text) => {
          if (text.includes("__end__")) await synced;
          lines.push(JSON.parse(text));
          return { paused: false };
        },
      },
      attempts: noAttempts,
      scope: (fn) => fn(),
      note: () => undefined,
      onRefused: () => undefined,
      judge: async () => {
        await Bun.sleep(60);
        return { validate: () => "it never fits" };
      },
      onWait: () => undefined,
      mask: (text) => text,
      now: () => clock.now,
      closingMs: 50,
    },
  );
  engine.start();
  return { engine, lines, clock, roles: () => lines.map(({ role }) => role) };
}

describe("a clock that jumps (F12)", () => {
  test("back an hour and ahead ten years keeps the order and all steps", async () => {
    const { engine, lines, roles } = drive(null);
    await engine.done;
    expect(roles()).toEqual(["a", "b", "c", "__end__"]);
    const [a, b, c] = lines.map(({ timestamp }) => timestamp) as [number, number, number];
    expect([b - a, c - b]).toEqual([-hour, 10 * year]);
  });

  test("back keeps a question open until its deadline by the new clock", async () => {
    const { engine, clock, roles } = drive({ expiresAt: 1_800_000_000_000 + 20 * year });
    await until(() => engine.status === "waiting");
    clock.now -= 30 * year;
    await engine.answer({ content: "yes" });
    await engine.done;
    expect(roles()).toEqual(["a", "b", "c", WAIT, "__input__", "__end__"]);
  });

  test("ahead past a question's deadline refuses answers", async () => {
    const { engine, clock, lines } = drive({
      expiresAt: 1_800_000_000_000 + 21 * year,
      onTimeout: 1,
    });
    await until(() => engine.status === "waiting");
    clock.now += 2 * year;
    const refused = await engine.answer({ content: "late" }).catch((error: Error) => error);
    expect(String(refused)).toContain("too late");
    await engine.done;
    expect(lines.at(-2)?.meta).toEqual({ for: "leave", timedOut: true, value: 1 });
  });
});

describe("a question that expires while an answer is checked", () => {
  test("continues with onTimeout when that answer is refused", async () => {
    const { engine, clock, lines } = drive({
      expiresAt: 1_800_000_000_000 + 20 * year + 20,
      schema: true,
      onTimeout: 1,
    });
    await until(() => engine.status === "waiting");
    const answering = engine.answer({ content: "no" }).catch((error: Error) => error);
    clock.now += year;
    expect(String(await answering)).toContain("invalid answer to leave");
    await engine.done;
    expect(lines.map(({ role }) => role)).toEqual(["a", "b", "c", WAIT, "__input__", "__end__"]);
    expect(lines.at(-2)?.meta).toEqual({ for: "leave", timedOut: true, value: 1 });
  });
});

test("isDriven is true until the end record is durable", async () => {
  const synced = Promise.withResolvers<void>();
  const { engine } = drive(null, synced.promise);
  await until(() => engine.over);
  expect(engine.isDriven).toBe(true);
  synced.resolve();
  await engine.done;
  expect(engine.isDriven).toBe(false);
});
