import { expect, test } from "bun:test";
import {
  type BundleOptions,
  fold,
  type StepDocument,
  stepsBundle,
  type WorkflowDocument,
} from "../src/entry/index.ts";
import { flow } from "./ran.ts";

type Step = { role: string; content: string; meta: Record<string, unknown>; timestamp: number };

const vars = ["$a(INT)", "$list(ARRAY) = []", "$reply(OBJECT)", "$e(STRING)"];
const set = (id: string, target: string, value: unknown, next = "RETURN"): StepDocument => ({
  id,
  target,
  value,
  next,
});

/** Drives a bundle as an engine does: outputs become steps, and questions get an answer. */
async function drive(
  document: WorkflowDocument,
  given: BundleOptions & {
    prompt?: string;
    steps?: Step[];
    answer?: (question: Step) => Omit<Step, "timestamp"> | null;
    /** The maximum number of steps. */
    most?: number;
  } = {},
) {
  const { prompt = "", steps: before = [], answer, most = Infinity, ...options } = given;
  const { run } = stepsBundle(document, options);
  const { signal } = new AbortController();
  const steps = [...before];
  const generator = run(
    { prompt, steps: before },
    { threadId: "01JTHREAD", signal, isDryRun: false, maxRounds: 100 },
  );
  const keep = (step: Omit<Step, "timestamp">): void => {
    steps.push({ ...structuredClone(step), timestamp: 1_700_000_000_000 + steps.length });
  };
  let sent: Step | undefined;
  while (steps.length < most) {
    const { done, value } = await generator.next(sent);
    sent = undefined;
    if (done) return { steps, result: value };
    keep(value);
    if (value.role !== "__wait__") continue;
    const payloads = answer?.(steps.at(-1) as Step);
    if (!payloads) break;
    keep(payloads);
    sent = steps.at(-1);
  }
  await generator.return({ returnCode: 1, summary: "left" });
  return { steps, result: null };
}

const linear = flow(
  [
    set("Set_A", "$a", "=n", "Loop_A"),
    { id: "Loop_A", source: [1, 2], children: ["Set_B"], next: "Stop_A" },
    set("Set_B", "$list[_index]", "=_item"),
    { id: "Stop_A" },
  ],
  { params: ["n(INT) = 3"], vars },
);

test("each finished step is a step of the thread, with its writes", async () => {
  const { steps, result } = await drive(linear);
  expect(steps.map(({ role }) => role)).toEqual(["Set_A", "Set_B", "Set_B", "Loop_A", "Stop_A"]);
  expect(result).toEqual({ returnCode: 0, summary: "flow" });
  const [first, second] = steps;
  expect(first?.content).toMatch(/^Set_A: \$a set \(1 B\), 0\.\d s$/);
  expect(first?.meta).toMatchObject({
    type: "Set",
    outputs: null,
    variables: [{ path: ["$a"], value: 3, seq: 1 }],
    artifacts: [],
    path: [],
    next: "Loop_A",
    phase: "done",
    runID: "01JTHREAD",
  });
  expect(second?.meta).toMatchObject({
    variables: [{ path: ["$list", 0], value: 1, seq: 2 }],
    path: [{ in: "Loop_A", child: "Set_B", iteration: 0 }],
    next: "RETURN",
  });
});

test("the summary is the Stop's reason, otherwise its title, otherwise the workflow's name", async () => {
  const ending = (stop: Partial<StepDocument>) => flow([{ id: "Stop_A", ...stop }]);
  const summaryOf = async (document: WorkflowDocument) => (await drive(document)).result?.summary;
  expect(await summaryOf(ending({ reason: "='because ' + 1", meta: { title: "T" } }))).toBe(
    "because 1",
  );
  expect(await summaryOf(ending({ meta: { title: "T" } }))).toBe("T");
  expect(await summaryOf(ending({}))).toBe("flow");
  expect(await summaryOf(flow([{ id: "Noop_A", next: "RETURN" }]))).toBe("flow");
});

test("the error of a failed step names its id", async () => {
  const failing = flow([set("Set_A", "$a", "=1 / 0")], { vars });
  expect(drive(failing)).rejects.toMatchObject({ stepID: "Set_A" });
});

const pausing = flow(
  [
    set("Set_A", "$a", 1, "Pause_A"),
    {
      id: "Pause_A",
      reason: "sure?",
      resumeResultTarget: "$reply",
      timeout: { sec: 60, on: "Set_Late" },
      next: "Set_B",
    },
    set("Set_Late", "$a", "late", "Stop_A"),
    set("Set_B", "$list[0]", "=$reply.yes", "Stop_A"),
    { id: "Stop_A" },
  ],
  { vars },
);
const input = (meta: Record<string, unknown>) => () => ({
  role: "__input__",
  content: "",
  meta,
});

test("a Pause is a question, and the thread continues with its answer", async () => {
  const { steps, result } = await drive(pausing, {
    answer: ({ meta }) => input({ token: meta.token, value: { yes: 1 }, requestId: "r" })(),
  });
  const question = steps[1];
  expect(question).toMatchObject({
    role: "__wait__",
    content: "sure?",
    meta: {
      for: "pause",
      stepID: "Pause_A",
      token: expect.stringMatching(/^[0-9a-f]{32}$/),
      reason: "sure?",
      expiresAt: expect.any(Number),
      onTimeout: "Set_Late",
    },
  });
  expect(result?.returnCode).toBe(0);
  const { variables } = fold(pausing, { threadId: "01JTHREAD", prompt: "", steps });
  expect(variables).toMatchObject({ $reply: { yes: 1 }, $list: [1] });
});

test("a Pause that was answered without a worker continues from the log", async () => {
  const { steps } = await drive(pausing);
  expect(steps.map(({ role }) => role)).toEqual(["Set_A", "__wait__"]);
  const answered = [...steps, { ...input({ value: { yes: 2 } })(), timestamp: 1 }];
  const { steps: all } = await drive(pausing, { steps: answered });
  expect(all.slice(3).map(({ role }) => role)).toEqual(["Pause_A", "Set_B", "Stop_A"]);
  const late = [...steps, { ...input({ timedOut: true })(), timestamp: 1 }];
  const { steps: timedOut } = await drive(pausing, { steps: late });
  expect(timedOut.slice(3).map(({ role }) => role)).toEqual(["Pause_A", "Set_Late", "Stop_A"]);
});

/** Nested constructs with counting steps, which must not run twice. */
const counting = flow(
  [
    { id: "Loop_A", source: [0, 1, 2], children: ["Branch_A"], next: "Noop_F" },
    {
      id: "Branch_A",
      cases: [
        ["_index == 1", "Set_A"],
        ["ELSE", "Noop_G"],
      ],
      next: "Set_C",
    },
    set("Set_A", "$a", "=$a + 10"),
    { id: "Noop_G", children: ["Set_G", "Set_H"], next: "RETURN" },
    set("Set_G", "$a", "=$a + 100", "Set_G2"),
    set("Set_G2", "$a", "=$a + 1000"),
    { id: "Set_H", if: "_index == 9", target: "$a", value: 0, next: "RETURN" },
    set("Set_C", "$list[$list.length]", "=_item"),
    { id: "Noop_F", children: ["Loop_P", "Loop_W", "Set_I"], next: "Set_End" },
    { id: "Loop_P", source: [1, 2], mode: "parallel", children: ["Set_P"], next: "RETURN" },
    set("Set_P", "$a", "=$a + 10000"),
    { id: "Loop_W", while: "_index < 5", maxIterations: 9, children: ["Branch_W"], next: "RETURN" },
    { id: "Branch_W", cases: [["_index == 2", "Noop_Break"]], next: "Set_W" },
    { id: "Noop_Break", next: "BREAK" },
    set("Set_W", "$list[$list.length]", "='w' + _index"),
    set("Set_I", "$a", "=$a + 100000"),
    set("Set_End", "$e", "end", "Stop_A"),
    { id: "Stop_A" },
  ],
  { vars: ["$a(INT) = 0", "$list(ARRAY) = []", "$e(STRING)"] },
);

test("a thread that ends after any step continues without repeating a step", async () => {
  const whole = await drive(counting);
  const end = fold(counting, { threadId: "01JTHREAD", prompt: "", steps: whole.steps });
  expect(end.variables).toMatchObject({ $a: 2 * 1100 + 10 + 2 * 10_000 + 100_000, $e: "end" });
  for (let most = 0; most < whole.steps.length; most += 1) {
    const cut = await drive(counting, { most });
    const again = await drive(counting, { steps: cut.steps });
    const { variables } = fold(counting, { threadId: "01JTHREAD", prompt: "", steps: again.steps });
    expect({ most, a: variables.$a, e: variables.$e }).toEqual({
      most,
      a: end.variables.$a,
      e: "end",
    });
    expect((variables.$list as unknown[]).map(String).toSorted()).toEqual([
      "0",
      "1",
      "2",
      "w0",
      "w1",
    ]);
  }
});

test("an invalid workflow can't become a bundle", () => {
  expect(() => stepsBundle(flow([{ id: "Set_A", target: "$x", value: 1 }]))).toThrow(
    expect.objectContaining({ code: "WORKFLOW_INVALID" }),
  );
});

test("a step of another kind of workflow is refused", async () => {
  const steps = [{ role: "coder", content: "", meta: {}, timestamp: 1 }];
  expect(drive(linear, { steps })).rejects.toMatchObject({ code: "NOT_STEPS" });
});
