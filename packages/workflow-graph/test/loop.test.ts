import { describe, expect, test } from "bun:test";
import { agent, approval, condition, drawn, start, texts } from "./drawn.ts";
import type { GraphAgents } from "../src/entry/index.ts";

const nodes = [start("s"), agent("a"), condition("if", { operator: "contains", value: "a(a(a(" })];
const loop = "s -> a; a -> if; if -false-> a";

describe("a loop", () => {
  test("runs its node again until the condition holds", async () => {
    const outcome = await drawn(nodes, loop);
    expect(outcome.status).toBe("completed");
    expect(texts(outcome).filter((text) => text.startsWith("a: "))).toEqual([
      "a: a(in)",
      "a: a(a(in))",
      "a: a(a(a(in)))",
    ]);
    const runs = outcome.steps.filter(({ role }) => role === "a").map(({ meta }) => meta.run);
    expect(runs).toEqual([1, 2, 3]);
  });

  test("that never ends fails at maxRounds, and a run that ends in the last round completes", async () => {
    const endless = [...nodes.slice(0, 2), condition("if", { operator: "equal", value: "" })];
    const failed = await drawn(endless, loop, { maxRounds: 10 });
    expect(failed).toMatchObject({ status: "failed", message: "Round limit reached" });
    expect(failed.steps.length).toBeLessThan(10);
    const exact = await drawn(nodes.slice(0, 2), "s -> a", { maxRounds: 2 });
    expect(exact.steps).toHaveLength(2);
    const short = await drawn(nodes.slice(0, 2), "s -> a", { maxRounds: 1 });
    expect(short).toMatchObject({ status: "failed", message: "Round limit reached" });
  });

  test("with branches runs them concurrently, and joins them once in each round", async () => {
    const busy: string[] = [];
    const agents: GraphAgents = async ({ nodeId }) => {
      busy.push(`+${nodeId}`);
      // The longer branch ends last.
      await Bun.sleep(nodeId === "left" ? 1 : 3);
      busy.push(`-${nodeId}`);
      return { output: `${nodeId}${busy.filter((one) => one === `+${nodeId}`).length}` };
    };
    const all = [
      ...["left", "right", "far", "join"].map((id) => agent(id)),
      condition("if", { operator: "contains", value: "join2" }),
    ];
    const links = "s -> author; author -> left, right; right -> far; left -> join; far -> join";
    const outcome = await drawn(
      [start("s"), agent("author"), ...all],
      `${links}; join -> if; if -false-> author`,
      { agents },
    );
    expect(outcome.status).toBe("completed");
    const joins = outcome.steps.filter(({ role }) => role === "join");
    expect(
      joins.map(({ meta }) => (meta.arrivals as { from: string }[]).map(({ from }) => from)),
    ).toEqual([
      ["left", "far"],
      ["left", "far"],
    ]);
    const first = busy.slice(2, 4);
    expect(first.sort()).toEqual(["+left", "+right"]);
  });

  test("with two nodes that wait for each other starts the node that was reached first", async () => {
    const both = [start("s"), agent("a"), agent("b"), agent("x"), condition("y", never)];
    const outcome = await drawn(
      both,
      "s -> a, b; a -> x; b -> y; x -> y; y -false-> z; y -condition-0-> x",
    );
    expect(outcome.status).toBe("completed");
    expect(outcome.steps.map(({ role }) => role)).toContain("x");
  });

  test("from an approval directly to itself asks again", async () => {
    const ask = [start("s"), approval("ask")];
    const answers = ["reject", "reject", "approve"];
    const outcome = await drawn(ask, "s -> ask; ask -reject-> ask", { answers });
    expect(outcome.steps.map(({ role }) => role)).toEqual([
      "s",
      ...Array.from({ length: 3 }, () => ["__wait__", "__input__"]).flat(),
    ]);
    expect(outcome.status).toBe("completed");
  });
});

const never = { operator: "equal", value: "nothing has this" };
