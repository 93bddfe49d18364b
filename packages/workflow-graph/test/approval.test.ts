import { describe, expect, test } from "bun:test";
import { agent, approval, drawn, published, start, texts } from "./drawn.ts";
import { reviewOf } from "../src/state/review.ts";
import type { GraphAgents } from "../src/entry/index.ts";

const nodes = [start("s"), agent("a"), approval("ask", { prompt: "Good?" }), agent("b")];
const links = "s -> a; a -> ask; ask -approve-> b; ask -reject-> a";
const rejected = (note: string) => JSON.stringify({ decision: "Reject", note });

describe("an approval", () => {
  test("asks with its prompt, and passes its input on", async () => {
    const asked = await drawn(nodes, links);
    expect(asked).toMatchObject({
      status: "waiting",
      wait: {
        content: "Good?",
        meta: { for: "approval", nodeId: "ask", prompt: "Good?", input: "a(in)" },
      },
    });
    const outcome = await drawn(nodes, links, { answers: ["yes"] });
    expect(texts(outcome).at(-1)).toBe("b: b(a(in))");
  });

  test("may have the legacy type input", async () => {
    const old = nodes.map((node) => (node.id === "ask" ? { ...node, type: "input" } : node));
    const outcome = await drawn(old, links);
    expect(outcome).toMatchObject({ status: "waiting", wait: { content: "Good?" } });
  });

  test("that is rejected without a connection for the rejection ends the path", async () => {
    const outcome = await drawn(nodes, "s -> a; a -> ask; ask -approve-> b", {
      answers: ["reject"],
    });
    expect(outcome.status).toBe("completed");
    expect(outcome.steps.map(({ role }) => role)).not.toContain("b");
  });

  test("passes its note once to the next agent, through any nodes between them", async () => {
    const { result, log } = await published(() =>
      drawn(nodes, links, { answers: [rejected("shorter"), "yes"] }),
    );
    const noted = "a(in)\n\nReviewer feedback (rejected): shorter";
    expect(texts(result).filter((text) => /^[ab]: /.test(text))).toEqual([
      "a: a(in)",
      `a: a(${noted})`,
      `b: b(a(${noted}))`,
    ]);
    expect(log.filter((line) => line.startsWith("ask "))).toEqual([
      "ask step_start: approval node",
      "ask wait_input: Waiting for user approval",
      "ask input_received: User rejected this step. Feedback: shorter",
      "ask step_start: approval node",
      "ask wait_input: Waiting for user approval",
      "ask input_received: User approved this step.",
    ]);
  });

  test("puts its note only at the prompt's placeholder", async () => {
    const userPrompt = "{{PREVIOUS_OUTPUT}}|{{APPROVAL_DECISION}}|{{APPROVAL_NOTE}}";
    const placed = [...nodes.slice(0, 3), agent("b", { userPrompt })];
    const twoPaths = "s -> a, b; a -> ask; ask -approve-> b; ask -reject-> b";
    const outcome = await drawn(placed, twoPaths, { answers: [rejected("no")] });
    expect(texts(outcome).at(-1)).toBe("b: b(in\n\na(in)|reject|no)");
  });

  test.each([
    "fine",
    "{}",
    "",
    "null",
    "Please REJECT this",
    '{"decision":"approve","approved":false}',
  ])("refuses the answer %j, and then accepts a decision", async (answer) => {
    const given = drawn(nodes, links, { answers: [answer] });
    const refusal: unknown = await given.catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "NOT_A_DECISION" });
    const { steps } = await drawn(nodes, links);
    const resumed = await drawn(nodes, links, { steps, answers: ["Yes"] });
    expect(texts(resumed).at(-1)).toBe("b: b(a(in))");
    expect(resumed.status).toBe("completed");
  });

  test.each([
    ["Please REJECT this", "reject", ""],
    [{ decision: "Reject", note: "why" }, "reject", "why"],
    ["no", "approve", ""],
    [false, "approve", ""],
    [{ approved: false }, "approve", ""],
    [{}, "approve", ""],
    [undefined, "approve", ""],
    ["", "approve", ""],
    [{ decision: 5, note: 7 }, "approve", ""],
    [["reject"], "approve", ""],
    [null, "approve", ""],
  ])(
    "keeps the meaning that it had in the log of an earlier version: %j is %s",
    (answer, decision, note) => {
      const asked = { for: "approval", nodeId: "ask", run: 1, input: "" } as const;
      const old = {
        ...asked,
        schema: { properties: { decision: { enum: ["approve", "reject"] } } },
      };
      expect(reviewOf(old, answer)).toEqual({ decision: decision as "approve", note });
      const current = { ...asked, schema: { required: ["decision"] } };
      expect(reviewOf(current, answer)?.decision).not.toBe("approve");
    },
  );
});

describe("approvals while nodes run", () => {
  test("ask in turn if two are reached at once", async () => {
    const both = [start("s"), approval("p"), approval("q"), agent("a"), agent("b")];
    const { result, log } = await published(() =>
      drawn(both, "s -> p, q; p -approve-> a; q -approve-> b", { answers: ["approve", "approve"] }),
    );
    expect(
      result.steps.map(({ role, meta }) =>
        role === "__wait__" ? `${role} ${String(meta.nodeId)}` : role,
      ),
    ).toEqual([...["s", "__wait__ p", "__input__", "a", "__wait__ q", "__input__", "b"]]);
    expect(log.filter((line) => / (wait_input|step_start): [Wa]/.test(line))).toEqual([
      "p step_start: approval node",
      "p wait_input: Waiting for user approval",
      "q wait_input: Waiting for user approval",
      "q wait_input: Waiting for user approval",
    ]);
    expect(log.filter((line) => line.startsWith("q step_start"))).toEqual([]);
    expect(result.status).toBe("completed");
  });

  test("wait for a slow agent, whose successors wait for the answer and their turn", async () => {
    const order: string[] = [];
    const agents: GraphAgents = async ({ nodeId }) => {
      order.push(`+${nodeId}`);
      if (nodeId.startsWith("slow")) await Bun.sleep(nodeId === "slow1" ? 2 : 4);
      if (nodeId.startsWith("late")) await Bun.sleep(1);
      order.push(`-${nodeId}`);
      return { output: nodeId };
    };
    const all = ["slow1", "slow2", "late1", "late2", "next"].map((id) => agent(id));
    const text = "s -> slow1, slow2, ask; slow1 -> late1; slow2 -> late2; ask -approve-> next";
    const asked = await drawn([start("s"), approval("ask"), ...all], text, { agents });
    expect(asked.steps.map(({ role }) => role)).toEqual(["s", "slow1", "slow2", "__wait__"]);
    order.length = 0;
    const outcome = await drawn([start("s"), approval("ask"), ...all], text, {
      agents,
      answers: ["yes"],
    });
    expect(outcome.status).toBe("completed");
    expect(order.slice(4)).toEqual(["+next", "-next", "+late1", "-late1", "+late2", "-late2"]);
  });

  test("do not ask if an agent fails meanwhile", async () => {
    const agents: GraphAgents = async () => {
      await Bun.sleep(1);
      throw new Error("broken");
    };
    const outcome = await drawn([start("s"), approval("ask"), agent("a")], "s -> ask, a", {
      agents,
    });
    expect(outcome).toMatchObject({ status: "failed", message: "broken" });
    expect(outcome.steps.map(({ role }) => role)).toEqual(["s"]);
  });
});

test("an answer that follows no question does not approve", async () => {
  const { steps } = await drawn(nodes, links);
  const meta = { for: "approval", value: { decision: "approve", note: "" } };
  const unasked = [...steps.slice(0, -1), { role: "__input__", content: "approve", meta }];
  const outcome = await drawn(nodes, links, { steps: unasked });
  expect(outcome.status).toBe("waiting");
  expect(outcome.steps.slice(unasked.length).map(({ role }) => role)).toEqual(["__wait__"]);
});

test("an answer to an approval that was removed from the graph changes nothing", async () => {
  const asked = await drawn(nodes, links);
  const answered = [
    ...asked.steps,
    { role: "__input__", content: "yes", meta: { for: "approval" } },
  ];
  const { result, log } = await published(() =>
    drawn([start("s"), agent("a")], "s -> a", { steps: answered }),
  );
  const message = "Unable to resume, current node missing";
  expect(result).toMatchObject({ status: "failed", message });
  expect(log).toContain(`system error: ${message}`);
});
