import type { GraphDocument } from "../../src/entry/index.ts";
import { agent, approval, condition, start } from "../parts.ts";
import { Chance, digest } from "./chance.ts";

type Node = GraphDocument["nodes"][number];
type Connection = GraphDocument["connections"][number];

/** Maximum length of a generated node's output, and the error for a longer output. */
export const longestText = 4000;
export const tooLong = "a text has grown too long";

/** Returns a graph with diamonds, loops, conditions and approvals, the same for the same seed. */
export function generatedGraph(seed: number): GraphDocument {
  const chance = new Chance(seed);
  const count = 3 + chance.below(9);
  const nodes = Array.from({ length: count }, (_, at) =>
    at === 0 ? start("s") : generatedNode(chance, at),
  );
  const connections: Connection[] = [];
  const connect = (from: number, to: number): void => {
    const [source, target] = [nodes[from], nodes[to]];
    if (!source || !target) return;
    const handle = chance.of(handlesOf(source));
    const connection = {
      source: source.id,
      target: target.id,
      ...(handle && { sourceHandle: handle }),
    };
    connections.splice(chance.below(connections.length + 1), 0, connection);
  };
  for (let at = 1; at < count; at += 1) {
    connect(chance.below(at), at);
    if (chance.is(0.5)) connect(chance.below(at), at);
    if (chance.is(0.2)) connect(chance.below(at), at);
    // Back connections come from decisions, so loops end.
    const decides = nodes[at]?.type === "if" || nodes[at]?.type === "approval";
    if (decides && chance.is(0.4)) connect(at, chance.below(at + 1));
  }
  return { nodes, connections };
}

function generatedNode(chance: Chance, at: number): Node {
  const id = `n${at}`;
  const kind = chance.next();
  const data = chance.is(0.08) ? { join: "each" } : {};
  if (kind < 0.5) return agent(id, { ...data, userPrompt: chance.of(prompts) });
  if (kind < 0.78) {
    const conditions = chance.of([
      [{ operator: "contains", value: "yes" }],
      [{ operator: "contains", value: " NO " }],
      [
        { operator: "contains", value: "maybe" },
        { operator: "contains", value: "yes" },
      ],
      [{ operator: "equal", value: "in" }],
    ]);
    return { ...condition(id, ...conditions), data: { ...data, conditions } };
  }
  if (kind < 0.96) return approval(id, data);
  return { id, type: "strange", x: 0, y: 0, data };
}

const prompts = [
  "",
  "{{PREVIOUS_OUTPUT}}",
  "Do {{PREVIOUS_OUTPUT}}!",
  "{{PREVIOUS_OUTPUT}} and {{PREVIOUS_OUTPUT}}: {{APPROVAL_DECISION}} {{APPROVAL_NOTE}}",
];

function handlesOf({ data, type }: Node): (string | undefined)[] {
  if (type === "approval") return ["approve", "reject"];
  if (type !== "if") return [undefined];
  const conditions = (data?.conditions ?? []) as unknown[];
  return [...conditions.map((_, index) => `condition-${index}`), "false"];
}

/** Returns the answer of a generated graph's agent, a function of its prompt. */
export const answerTo = (nodeId: string, prompt: string): string => {
  const hash = digest(`${nodeId} ${prompt}`);
  return `${nodeId}:${hash.toString(36)} ${["yes", "no ", "maybe", "x"][hash % 4]}`;
};

/** Returns the answer to an approval of a generated graph, a function of the question. */
export const decisionOn = (nodeId: string, input: unknown): string => {
  const hash = digest(`${nodeId} ${String(input)}`);
  const decision = hash % 5 < 2 ? "reject" : "approve";
  return JSON.stringify({ decision, ...(hash % 3 === 0 && { note: `note ${hash % 1000}` }) });
};
