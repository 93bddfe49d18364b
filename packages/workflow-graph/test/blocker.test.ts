import { describe, expect, test } from "bun:test";
import { checkGraph, newViolation, nodeDefaults, runBlocker } from "../src/entry/document.ts";
import { agent, approval, condition, lines, type Node, start } from "./parts.ts";

const blockerOf = (nodes: readonly Node[], connections = "", ...more: object[]) =>
  runBlocker({ nodes: [...nodes], connections: [...lines(connections), ...(more as never[])] });

/** Invalid graphs by reason. Each graph also has the errors of all later reasons, except an extra start node. */
const lead = agent("lead", { tools: { subagents: true } });
const ends = [condition("if", { operator: "equal", value: "x" }), approval("p")];
const dead = "s -> if, p";
const rule = "lead -subagent-> if";
const lost = { source: "if", target: "gone" };

describe("a run is blocked", () => {
  test.each([
    ["without a Start", blockerOf([lead, ...ends], rule, lost), "no_start", "Add a Start node."],
    [
      "with several Starts",
      blockerOf([start("s"), start("t"), lead, ...ends], rule, lost),
      "several_starts",
      "Remove all Start nodes but one: there are s and t.",
    ],
    [
      "with a connection to a missing node",
      blockerOf([start("s"), lead, ...ends], rule, lost),
      "broken_connection",
      "Remove the broken connection if -> gone: one of its nodes does not exist.",
    ],
    [
      "with a connection without a source",
      blockerOf([start("s"), lead, ...ends], rule, { target: "lead" }),
      "broken_connection",
      "Remove the broken connection (nothing) -> lead: one of its nodes does not exist.",
    ],
    [
      "with an invalid subagent",
      blockerOf([start("s"), lead, ...ends], rule),
      "subagent_rule",
      "Subagent connection lead -> if: if is not an agent",
    ],
    [
      "with a Start without a successor",
      blockerOf([start("s"), lead, ...ends]),
      "start_not_connected",
      "Connect s to the first node of the run.",
    ],
    [
      "with a Start that leads only to itself",
      blockerOf([start("s"), lead, ...ends], "s -> s"),
      "nothing_reachable",
      "Connect s to another node: a connection to itself runs nothing.",
    ],
    [
      "with a condition without a successor",
      blockerOf([start("s"), lead, ...ends], dead),
      "condition_without_branch",
      "Connect a branch of the condition if.",
    ],
    [
      "with an approval without a successor",
      blockerOf([start("s"), lead, ...ends], `${dead}; if -false-> lead`),
      "approval_without_branch",
      "Connect Approve or Reject of the approval p.",
    ],
    [
      "with a duplicate node id",
      blockerOf([start("s"), start("s")]),
      "unreadable",
      'two nodes have the id "s"',
    ],
  ] as const)("%s", (_, blocker, reason, message) => {
    expect(blocker).toMatchObject({ reason, message });
  });

  test("for a branch that the condition does not have", () => {
    const connections = "s -> if; if -condition-1-> lead";
    expect(blockerOf([start("s"), lead, ...ends], connections)?.reason).toBe(
      "condition_without_branch",
    );
  });

  test("with the path of the faulty part", () => {
    expect(blockerOf([start("s"), ...ends], dead)?.path).toEqual(["nodes", 1]);
    expect(blockerOf([start("s"), start("t")])?.path).toEqual(["nodes", 1]);
    expect(blockerOf([start("s"), lead], "s -> lead", lost)?.path).toEqual(["connections", 1]);
  });
});

test("a run is allowed with a cycle, and with unreachable nodes", () => {
  expect(blockerOf([start("s"), lead, ...ends], "s -> lead; lead -> lead")).toBeNull();
  expect(blockerOf([start("s"), ...ends], "s -> p; p -reject-> p")).toBeNull();
  expect(blockerOf([start("s"), lead, ...ends], "s -> if; if -true-> lead")).toBeNull();
});

describe("an additional connection", () => {
  const on = (id: string) => agent(id, { tools: { subagents: true } });
  const nodes = [start("s"), on("a"), on("b"), on("c"), agent("off")];
  const broken = (before: string, next: string): string | null => {
    const [connection = { source: "", target: "" }] = lines(next);
    return newViolation({ nodes, connections: lines(before) }, connection);
  };

  test("violates no rule", () => {
    expect(broken("s -> a", "a -subagent-> b")).toBeNull();
    expect(broken("s -> a; a -subagent-> b", "b -subagent-> c")).toBeNull();
    expect(broken("s -> a; off -subagent-> b", "s -> c")).toBeNull();
  });

  test("closes a cycle, in addition to existing violations", () => {
    const message = "Subagent cycle detected: b -> c -> a -> b";
    expect(broken("a -subagent-> b; b -subagent-> c", "c -subagent-> a")).toContain("cycle");
    expect(broken("b -subagent-> c; a -subagent-> b; s -> off", "c -subagent-> a")).toBe(message);
    expect(broken("off -subagent-> off; a -subagent-> b", "b -subagent-> a")).toBe(
      "Subagent cycle detected: a -> b -> a",
    );
  });
});

test("new nodes match the format", () => {
  const nodes = Object.entries(nodeDefaults).map(([type, data]) => ({ id: type, type, data }));
  const { errors, warnings } = checkGraph({ nodes, connections: [] });
  expect(errors).toEqual([]);
  expect(warnings.map(({ message }) => message)).toEqual(["if: an empty value never matches"]);
});
