import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { agent, Drawn, graphOf, linesOf, resultOf, start } from "./graph-client.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;

beforeAll(async () => {
  const endless = { text: "and so on", repeat: 100_000, tokenMs: 20 };
  drawn = await Drawn.start((asked) => {
    return asked.includes("you are hung") ? { fault: { kind: "hang" } } : endless;
  });
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

test.each(["endless", "hung"])(
  "a cancel aborts an agent that is %s, and no other agent starts",
  async (id) => {
    const graph = graphOf([start("tea"), agent(id), agent("b")], `s ${id}`, `${id} b`);
    const before = drawn.model.came.length;
    const streaming = drawn.stream("run-stream", { graph });
    await until(() => drawn.model.came.length > before);
    const { threadId: runId = "" } =
      (await drawn.serving.ok<{ threadId: string }[]>("/api/threads?limit=1"))[0] ?? {};
    const { status, body } = await drawn.post("cancel", { runId });
    expect([status, body.status]).toEqual([200, "cancelled"]);
    await drawn.model.came.at(-1)?.closed;
    expect(resultOf(await streaming)).toMatchObject({ runId, status: "cancelled" });
    expect(linesOf(await drawn.run(runId)).join("\n")).not.toContain("b step_start");
    expect(drawn.model.came).toHaveLength(before + 1);
    const again = await drawn.post("cancel", { runId });
    expect([again.status, again.body.status]).toEqual([200, "cancelled"]);
  },
);
