import { afterEach, describe, expect, test } from "bun:test";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { agent, approval, condition, drawn, start, texts } from "./drawn.ts";
import type { Node } from "./parts.ts";

afterEach(removeStores);

const before = [start("s"), agent("a"), agent("old"), approval("ask"), agent("b")];
const links = "s -> a; a -> old; old -> ask; ask -approve-> b";

/** Continues a run with another graph after the first `kept` steps. */
async function goneOn(kept: number, nodes: Node[], connections: string, answers = ["yes"]) {
  const { steps } = await drawn(before, links, { answers: ["yes"] });
  const outcome = await drawn(nodes, connections, { steps: steps.slice(0, kept), answers });
  return [outcome.status, ...texts(outcome).slice(kept)];
}

describe("a run that continues with a changed graph", () => {
  const without = before.filter(({ id }) => id !== "old");

  test("ignores the steps of a removed node", async () => {
    expect(await goneOn(3, without, "s -> a; a -> ask; ask -approve-> b")).toEqual(["completed"]);
    expect(await goneOn(2, without, "s -> a; a -> ask; ask -approve-> b")).toEqual(["completed"]);
    // Rerun from the node before the removed node. The changed graph applies after that node.
    const again = await goneOn(1, without, "s -> a; a -> ask; ask -approve-> b");
    expect(again.map((text) => text.replace(/: .*/, ""))).toEqual([
      ...["completed", "a", "__wait__", "__input__", "b"],
    ]);
  });

  test("follows neither a removed connection nor a new connection from a finished node", async () => {
    expect(await goneOn(2, before, "s -> a; old -> ask; ask -approve-> b")).toEqual(["completed"]);
    const more = [...before, agent("new")];
    const added = await goneOn(2, more, `${links}; a -> new`);
    expect(added).not.toContainEqual(expect.stringContaining("new: "));
    const later = await goneOn(3, more, `${links}; ask -approve-> new`);
    expect(later).toContainEqual(expect.stringMatching(/^new: /));
  });

  test("runs a node by its new type", async () => {
    const changed = before.map((node) =>
      node.id === "ask" ? condition("ask", { operator: "contains", value: "old" }) : node,
    );
    const outcome = await goneOn(3, changed, "s -> a; a -> old; old -> ask; ask -true-> b");
    expect(outcome[0]).toBe("completed");
    expect(outcome.at(-1)).toStartWith("b: ");
  });

  test("continues from a question that the changed graph still asks", async () => {
    const renamed = [...before.slice(0, 4), agent("other")];
    const outcome = await goneOn(4, renamed, "s -> a; old -> ask; ask -approve-> other");
    expect(outcome.map((text) => text.replace(/: .*/, ""))).toEqual([
      ...["completed", "__input__", "other"],
    ]);
  });
});
