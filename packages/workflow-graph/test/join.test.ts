import { describe, expect, test } from "bun:test";
import { agent, approval, condition, drawn, start, texts } from "./drawn.ts";

const never = { operator: "equal", value: "nothing has this" };
const nodes = [start("s"), agent("a"), agent("b"), agent("c")];

describe("a node reached by several paths", () => {
  test("runs once, after all paths, with their texts in the order of the connections", async () => {
    const slow = {
      agents: async ({ nodeId, prompt }: { nodeId: string; prompt: string }) => {
        if (nodeId === "a") await Bun.sleep(5);
        return { output: `${nodeId}(${prompt})` };
      },
    };
    const outcome = await drawn(nodes, "s -> a, b\na -> c\nb -> c", slow);
    expect(texts(outcome)).toEqual(["s: in", "b: b(in)", "a: a(in)", "c: c(a(in)\n\nb(in))"]);
    expect(outcome.steps.at(-1)?.meta.arrivals).toEqual([
      { from: "a", handle: null, run: 1 },
      { from: "b", handle: null, run: 1 },
    ]);
  });

  test("runs once for each path if join is each", async () => {
    const each = [...nodes.slice(0, 3), agent("c", { join: "each" })];
    const outcome = await drawn(each, "s -> a, b; a -> c; b -> c");
    expect(texts(outcome).slice(3).sort()).toEqual(["c: c(a(in))", "c: c(b(in))"]);
    expect(outcome.steps.slice(3).map(({ meta }) => meta.run)).toEqual([1, 2]);
  });

  test("does not wait for a path behind a condition that was not taken", async () => {
    const withCondition = [...nodes, condition("if", never)];
    const links = "s -> if, b; if -condition-0-> a; a -> c; b -> c";
    const outcome = await drawn(withCondition, links);
    expect(outcome.status).toBe("completed");
    expect(texts(outcome).at(-1)).toBe("c: c(b(in))");
  });

  test("waits for the answer of an approval on a path", async () => {
    const withApproval = [...nodes.slice(0, 1), ...nodes.slice(2), approval("ask")];
    const links = "s -> ask, b; ask -approve-> c; b -> c";
    const asked = await drawn(withApproval, links);
    expect(asked.steps.map(({ role }) => role)).toEqual(["s", "b", "__wait__"]);
    const answered = await drawn(withApproval, links, { answers: ["yes"] });
    expect(texts(answered).at(-1)).toBe("c: c(in\n\nb(in))");
  });
});
