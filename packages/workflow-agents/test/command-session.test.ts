import { expect, test } from "bun:test";
import type { Journal } from "@uncaged/workflow/interpreter";
import type { ThreadContext } from "@uncaged/workflow";
import { commandAgent } from "../src/command/command.ts";
import { fieldsOf } from "../src/command/reader.ts";
import { observed, threadOf } from "./published.ts";

/* Tests the choice of the session that a step continues. */

/** Returns a journal in memory, without a thread. */
function journal(): Journal {
  const entries: { key: string; entry: unknown }[] = [];
  return {
    read: async (key) =>
      entries.filter((one) => one.key === key).map(({ entry }) => ({ entry, failed: true })),
    record: async (key, entry) => entries.push({ key, entry }) > 0,
  };
}

const script = `
  const [given = "none"] = process.argv.slice(1);
  if (process.env.LOST?.split(" ").includes(given)) { console.error("no such session"); process.exit(1); }
  console.log(JSON.stringify({ s: process.env.SESSION }));
  if (process.env.FAILS) { console.error("Overloaded"); process.exit(1); }
  const message = require("node:fs").readFileSync(0, "utf8");
  console.log(JSON.stringify({ a: given + ": " + message }));
`;
const agent = commandAgent({
  argv: ["node", ["-e", script], ["--", "{session}"]],
  env: ["SESSION", "FAILS", "LOST"],
  lostSession: /no such session/,
  output: () => (line) => {
    const { s, a } = fieldsOf(line) as Record<string, string>;
    return s === undefined ? [{ kind: "result", text: a ?? "" }] : [{ kind: "session", id: s }];
  },
});

const log = journal();
const play = async (env: Record<string, string>, more: Partial<ThreadContext> = {}) => {
  const own = { PATH: process.env.PATH ?? "", ...env };
  const ctx = threadOf({ env: own, journal: log, key: "coder 1", ...more });
  return await observed(() => agent(ctx, "You code."));
};

test("a step continues the session that it started, while the session exists", async () => {
  expect((await play({ SESSION: "one", FAILS: "1" })).error).toMatchObject({
    code: "COMMAND_FAILED",
  });
  const second = await play({ SESSION: "two" });
  expect(second.text).toBe("one: You code.\n\nGo on.");
  const notes = second.events.filter(({ type }) => type === "tool_message");
  expect(notes[0]?.payload.message).toBe("continues the session one, in which this step began");
  expect((await play({ SESSION: "three", LOST: "two" })).text).toContain("one: ");
  const lost = await play({ SESSION: "four", LOST: "one two three" });
  expect(lost.text).toBe("none: You code.\n\nfix the sum");
});

test("another step, and a step with another prompt, starts a new session", async () => {
  expect((await play({ SESSION: "five" }, { key: "coder 2" })).text).toContain("none: ");
  const start = { ...threadOf().start, content: "fix the product" };
  expect((await play({ SESSION: "six" }, { start })).text).toContain("none: ");
});
