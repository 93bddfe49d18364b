import { describe, expect, test } from "bun:test";
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { AttemptSpec, Attempts } from "@uncaged/workflow/interpreter";
import { eventsChannel, INPUT, type RoleOutput, type WorkflowEvent } from "@uncaged/workflow";
import { type Adapters, type StepDocument, stepsBundle } from "../src/entry/index.ts";
import { flow, ran, settled } from "./ran.ts";

const vars = ["$a(ARRAY) = []", "$answer(OBJECT)"];

type Open = AttemptSpec & { id: string; parent: string | null; outcome: string | null };

/** Runs a bundle like a host that records attempts. Returns the attempts and events. */
async function hosted(
  steps: StepDocument[],
  given: { adapters?: Adapters; answer?: unknown } = {},
) {
  const opened: Open[] = [];
  const contexts = new AsyncLocalStorage<string>();
  const attempts: Attempts = {
    open(spec) {
      const id = `attempt-${opened.length}`;
      const attempt: Open = { ...spec, id, parent: contexts.getStore() ?? null, outcome: null };
      opened.push(attempt);
      return {
        id,
        path: spec.path ?? [],
        run: (fn) => contexts.run(id, fn),
        end: (outcome) => void (attempt.outcome ??= outcome),
      };
    },
  };
  const events: WorkflowEvent[] = [];
  const listen = (event: unknown): void => void events.push(event as WorkflowEvent);
  subscribe(eventsChannel, listen);
  const { run } = stepsBundle(flow(steps, { vars }), {
    adapters: given.adapters,
    subflows: { "child.json": child },
    customHandlers: { Work: (context) => context.evaluate("=_index") },
  });
  const log: RoleOutput[] = [];
  try {
    const thread = run({ prompt: "", steps: [] }, { threadId: "T", maxRounds: 99, attempts });
    let next = await thread.next();
    while (next.done !== true) {
      const step = next.value;
      log.push(step);
      const attempt = opened.find(({ id }) => id === step.attempt);
      if (attempt) attempt.outcome ??= "committed";
      const answer = { role: INPUT, content: "yes", meta: { payload: given.answer } };
      next = await thread.next(step.role === "__wait__" ? answer : undefined);
    }
    await settled();
  } finally {
    unsubscribe(eventsChannel, listen);
  }
  const of = (role: string) => opened.filter((attempt) => attempt.role === role);
  return { opened, events, log, of };
}

const child = flow(
  [{ id: "LLM_Child", in: { prompt: "hello" }, stream: true, next: "RETURN" }] as StepDocument[],
  {},
);

const llm = {
  async call(
    { inputs, messages }: { inputs?: Record<string, unknown>; messages: { content: unknown }[] },
    onToken: (delta: string) => void,
  ) {
    const name = String(inputs?.of ?? messages[0]?.content);
    for (let part = 0; part < 3; part += 1) {
      await settled();
      onToken(`${name}${part} `);
    }
    return { content: name, model: "m", usage: { input_tokens: 1, output_tokens: 3 } };
  },
};

describe("the attempts of a step workflow", () => {
  test("of four concurrent iterations have separate events, inputs and commits", async () => {
    const { events, log, of } = await hosted(
      [
        {
          id: "Loop_A",
          source: [0, 1, 2, 3],
          mode: "parallel",
          children: ["LLM_A"],
          next: "RETURN",
        },
        {
          id: "LLM_A",
          in: { of: "='text' + _index", stream: true },
          out: { "$a[_index]": "=_result" },
          meta: { title: "Say it" },
          next: "RETURN",
        },
      ],
      { adapters: { llm } as unknown as Adapters },
    );
    const [loop] = of("Loop_A");
    const each = of("LLM_A");
    expect(each).toHaveLength(4);
    for (const [index, attempt] of each.entries()) {
      const own = events.filter((event) => event.attempt === attempt.id);
      const text = own.filter(({ type }) => type === "llm_token").map((one) => one.payload.delta);
      expect(text).toEqual([0, 1, 2].map((part) => `text${index}${part} `));
      expect(own.find(({ type }) => type === "step_start")?.payload.resolvedInputs).toMatchObject({
        of: `text${index}`,
      });
      expect(own.at(-1)).toMatchObject({ type: "step_done", payload: { outputs: {} } });
      expect(attempt).toMatchObject({
        path: [{ in: "Loop_A", child: "LLM_A", iteration: index }],
        title: "Say it",
        parent: loop?.id ?? "",
        outcome: "committed",
      });
      const record = log.find((step) => step.attempt === attempt.id);
      expect(record?.meta.path).toEqual(attempt.path);
    }
  });

  test("of a step with a false if end as skipped", async () => {
    const { events, of } = await hosted([
      { id: "Loop_A", source: [0, 1], children: ["Work_A"], next: "RETURN" },
      { id: "Work_A", if: "_index == 1", next: "RETURN" },
    ]);
    const [first, second] = of("Work_A");
    expect([first?.outcome, second?.outcome]).toEqual(["skipped", "committed"]);
    const skipped = events.filter(({ type }) => type === "step_skipped");
    expect(skipped).toMatchObject([{ attempt: first?.id, stepID: "Work_A" }]);
  });

  test("of a Branch that a Stop ends are done with the Stop, and the attempt of an enclosing loop is cancelled", async () => {
    const { events, of } = await hosted([
      { id: "Loop_A", source: [0, 1], children: ["Branch_A"], next: "RETURN" },
      { id: "Branch_A", cases: [["ELSE", "Branch_B"]], next: "RETURN" },
      { id: "Branch_B", cases: [["ELSE", "Stop_A"]], next: "RETURN" },
      { id: "Stop_A" },
    ]);
    const outcomeOf = (role: string) => of(role).map(({ outcome }) => outcome);
    expect(["Loop_A", "Branch_A", "Branch_B", "Stop_A"].map(outcomeOf)).toEqual([
      ["cancelled"],
      ["committed"],
      ["committed"],
      ["committed"],
    ]);
    expect(of("Stop_A")).toMatchObject([{ parent: of("Branch_B")[0]?.id }]);
    const last = events
      .slice(-4)
      .map(({ type, stepID, payload }) => [type, stepID, payload.selected]);
    expect(last).toEqual([
      ["step_done", "Stop_A", undefined],
      ["step_done", "Branch_B", "Stop_A"],
      ["step_done", "Branch_A", "Branch_B"],
      ["workflow_done", null, undefined],
    ]);
  });

  test("of a step with children are one for its own work, and one for its children", async () => {
    const { log, of } = await hosted([
      { id: "Work_A", children: ["Work_B"], next: "RETURN" },
      { id: "Work_B", next: "RETURN" },
    ]);
    const [own, join] = of("Work_A");
    expect(log.map(({ attempt, meta }) => [attempt, meta.phase])).toEqual([
      [own?.id, "body"],
      [of("Work_B")[0]?.id, "done"],
      [join?.id, "done"],
    ]);
    expect(of("Work_B")[0]?.parent).toBe(join?.id ?? "");
  });

  test("of a Pause exclude the waiting time", async () => {
    const { events, log, of } = await hosted(
      [{ id: "Pause_A", resumeResultTarget: "$answer", next: "RETURN" }],
      { answer: { ok: true } },
    );
    const [asked, answered] = of("Pause_A");
    expect(log.map(({ role, attempt }) => [role, attempt])).toEqual([
      ["__wait__", asked?.id],
      ["Pause_A", answered?.id],
    ]);
    const types = (id?: string) =>
      events.filter((one) => one.attempt === id).map((one) => one.type);
    expect(types(asked?.id)).toEqual(["step_start", "pause_start"]);
    expect(types(answered?.id)).toEqual(["var_changed", "pause_resumed", "step_done"]);
  });

  test("of a child workflow belong to its own steps, and their parent is the attempt of the calling step", async () => {
    const { events, of } = await hosted(
      [{ id: "Subflow_A", in: { workflow_path: "child.json" }, next: "RETURN" }],
      { adapters: { llm } as unknown as Adapters },
    );
    const [inner] = of("Subflow_A/LLM_Child");
    expect(inner).toMatchObject({ outcome: "committed", path: [{ in: "Subflow_A" }] });
    expect(of("Subflow_A").map(({ id }) => id)).toContain(inner?.parent ?? "");
    const own = events.filter(({ attempt }) => attempt === inner?.id);
    expect(own.map(({ stepID }) => stepID)).toContain("Subflow_A/LLM_Child");
    expect(own.filter(({ type }) => type === "llm_token")).toHaveLength(3);
  });
});

test("an Engine's events have the attempt and the path of their step", async () => {
  const { events } = await ran(
    flow(
      [
        { id: "Loop_A", source: [0, 1], mode: "parallel", children: ["Set_A"], next: "RETURN" },
        { id: "Set_A", target: "$a[_index]", value: "=_index", next: "RETURN" },
      ],
      { vars },
    ),
  );
  const started = events.filter(({ type, stepID }) => type === "step_start" && stepID === "Set_A");
  expect(started.map(({ path }) => path)).toEqual(
    [0, 1].map((iteration) => [{ in: "Loop_A", child: "Set_A", iteration }]),
  );
  expect(new Set(started.map(({ attempt }) => attempt)).size).toBe(2);
  expect(events[0]?.attempt).toBeUndefined();
});
