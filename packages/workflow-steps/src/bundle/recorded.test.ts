import { beforeAll, describe, expect, test } from "bun:test";
import type { RoleOutput } from "@uncaged/workflow";
import type { WorkflowDocument } from "../document/format.ts";
import { stepsBundle } from "./bundle.ts";
import { planRerun, recordedCheckpoint, recordedSnapshot, type RerunRequest } from "./recorded.ts";

const document: WorkflowDocument = {
  version: "3.16",
  name: "count",
  registry: { params: ["by(INT)"], vars: ["$n(INT) = 1", "$seen(ARRAY)"] },
  steps: [
    { id: "Set_N", target: "$n", value: "=$n + by", next: "Loop_Three" },
    { id: "Loop_Three", source: [1, 2, 3], children: ["Set_Seen"], next: "Set_Last" },
    { id: "Set_Seen", target: "$seen[_index]", value: "=_item * $n", next: "Noop_In" },
    { id: "Noop_In", next: "RETURN" },
    { id: "Set_Last", target: "$n", value: "=$n * 100", next: "Stop_End" },
    { id: "Stop_End" },
  ],
};
const documents = { document, subflows: {} };

/** Runs a thread to its end, starting with the given steps. */
async function ran(before: RoleOutput[] = [], params: unknown = { by: 4 }) {
  const steps = [...before];
  const { run } = stepsBundle(document);
  const options = { threadId: "T", maxRounds: 100 };
  for await (const step of run({ prompt: "", params, steps: before }, options)) steps.push(step);
  return { threadId: "T", prompt: "", params, steps, status: "completed" };
}

/** Returns the kept and new roles of a rerun, and its final variables. */
async function again(thread: Awaited<ReturnType<typeof ran>> | null, request: RerunRequest) {
  const { kept, input } = planRerun(documents, thread, request);
  const begin = [...(thread?.steps.slice(0, kept) ?? []), { role: "__input__", ...input }];
  const rerun = await ran(begin, thread?.params);
  const { variables } = recordedCheckpoint(documents, rerun);
  return { kept, roles: rerun.steps.slice(kept + 1).map(({ role }) => role), variables, input };
}

let thread: Awaited<ReturnType<typeof ran>>;
beforeAll(async () => {
  thread = await ran();
});
const at = (steps: number) => ({ ...thread, steps: thread.steps.slice(0, steps) });
const checkpointAt = (steps: number) => recordedCheckpoint(documents, at(steps));
const codeOf = (request: RerunRequest): string => {
  try {
    planRerun(documents, thread, request);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "none";
};

describe("a rerun", () => {
  test("from the state before a step keeps the earlier steps and sends no checkpoint", async () => {
    const { kept, roles, variables, input } = await again(thread, {
      checkpoint: checkpointAt(8),
      stepID: "Set_Last",
      overrides: { $n: 7 },
    });
    expect({ kept, roles, variables }).toEqual({
      kept: 8,
      roles: ["Set_Last", "Stop_End"],
      variables: { $n: 700, $seen: [5, 10, 15] },
    });
    expect(input.meta).toEqual({
      for: "rerun",
      stepID: "Set_Last",
      path: [],
      overrides: { $n: 7 },
    });
  });

  test("from a later state begins with the values of the checkpoint", async () => {
    const { kept, variables, input } = await again(thread, {
      checkpoint: recordedCheckpoint(documents, thread),
      stepID: "Set_Last",
    });
    expect(kept).toBe(8);
    expect(variables).toEqual({ $n: 50_000, $seen: [5, 10, 15] });
    expect(input.meta.checkpoint).toBeDefined();
  });

  test("without a step continues at the checkpoint's position, even in the middle of a loop", async () => {
    const { kept, roles, variables } = await again(thread, { checkpoint: checkpointAt(4) });
    expect(kept).toBe(4);
    const last = ["Set_Seen", "Noop_In", "Loop_Three", "Set_Last", "Stop_End"];
    expect(roles).toEqual(["Noop_In", ...last]);
    expect(variables).toEqual({ $n: 500, $seen: [5, 10, 15] });
  });

  test("from a changed checkpoint uses its values", async () => {
    const checkpoint = { ...checkpointAt(8), variables: { $n: 2, $seen: [] } };
    const { variables } = await again(thread, { checkpoint });
    expect(variables).toEqual({ $n: 200, $seen: [] });
  });

  test("of an unknown thread begins with the checkpoint alone", async () => {
    const checkpoint = { currentStepID: "Set_Last", variables: { $n: 3 } };
    const { kept, roles, variables } = await again(null, { checkpoint });
    expect({ kept, roles }).toEqual({ kept: 0, roles: ["Set_Last", "Stop_End"] });
    expect(variables).toMatchObject({ $n: 300 });
  });

  test("is refused before any step starts", () => {
    const checkpoint = checkpointAt(8);
    expect(codeOf({ checkpoint, stepID: "Set_None" })).toBe("NO_SUCH_STEP");
    expect(codeOf({ checkpoint, overrides: { $none: 1 } })).toBe("OVERRIDE_UNKNOWN");
    expect(codeOf({ checkpoint: { ...checkpoint, _version: 3 } })).toBe("CHECKPOINT_INVALID");
    expect(codeOf({ checkpoint: "half" })).toBe("CHECKPOINT_INVALID");
    const foreign = { ...checkpoint, variables: { $other: 1 } };
    expect(codeOf({ checkpoint: foreign })).toBe("CHECKPOINT_INVALID");
    expect(codeOf({ checkpoint: { ...checkpoint, currentStepID: "Set_X" } })).toBe(
      "CHECKPOINT_INVALID",
    );
  });
});

test("another _item applies to the iteration where a rerun begins", async () => {
  const made = checkpointAt(3);
  for (const checkpoint of [made, { ...made, variables: { $n: 6, $seen: [5] } }]) {
    const request = { checkpoint, stepID: "Set_Seen", overrides: { _item: 20 } };
    const { variables } = await again(at(3), request);
    const { $n } = checkpoint.variables as { $n: number };
    expect(variables).toEqual({ $n: $n * 100, $seen: [5, $n * 20, $n * 3] });
  }
});

describe("a checkpoint with only a thread's id and a number of steps", () => {
  const first = { threadId: "T", steps: 4 };
  const path = [{ in: "Loop_Three", child: "Set_Seen", iteration: 1 }];

  test("represents the state after those steps", async () => {
    const { kept, roles, variables, input } = await again(thread, { checkpoint: first });
    expect({ kept, input: input.meta }).toEqual({
      kept: 4,
      input: { for: "rerun", overrides: {} },
    });
    expect(roles[0]).toBe("Noop_In");
    expect(variables).toEqual({ $n: 500, $seen: [5, 10, 15] });
  });

  test("may have a path, and a path that does not exist is refused", async () => {
    const { roles, input } = await again(thread, { checkpoint: first, stepID: "Set_Seen", path });
    expect(roles.slice(0, 2)).toEqual(["Set_Seen", "Noop_In"]);
    expect(input.meta).toMatchObject({ stepID: "Set_Seen", path });
    const wrong = [
      { path: [{ ...path[0], iteration: 0 }] },
      { path: [{ ...path[0], in: "Loop_None" }] },
      { path: [{ ...path[0], child: "Set_None" }] },
      { path: [{ in: "Set_N", run: "r" }] },
      { path: [], stepID: "Set_None" },
    ] as Partial<RerunRequest>[];
    for (const one of wrong) {
      expect(codeOf({ checkpoint: first, stepID: "Set_Seen", ...one })).toBe("PLACE_UNKNOWN");
    }
  });

  test("is refused for more steps than exist, and for unknown values", () => {
    expect(codeOf({ checkpoint: { ...first, steps: 99 } })).toBe("CHECKPOINT_INVALID");
    expect(codeOf({ checkpoint: first, overrides: { $none: 1 } })).toBe("OVERRIDE_UNKNOWN");
    expect(codeOf({ checkpoint: first, overrides: { by: "x" } })).toBe("PARAMS_INVALID");
  });
});

describe("the snapshot of a recorded thread", () => {
  const payloads = { elapsedMs: 5, eventSeq: 9 };

  test("names the running step inside its constructs", () => {
    const running = { ...at(4), status: "running" };
    expect(recordedSnapshot(documents, running, payloads)).toMatchObject({
      runID: "T",
      status: "running",
      currentStepID: "Noop_In",
      variables: { $n: 5, $seen: [5, 10] },
      params: { by: 4 },
      paused: null,
      elapsedMs: 5,
      eventSeq: 9,
      version: "3.16",
    });
  });

  test("of an ended thread has its status", () => {
    const stopped = recordedSnapshot(documents, thread, payloads);
    expect(stopped).toMatchObject({ status: "stopped", currentStepID: null });
    const outOfRounds = { ...at(4), status: "completed" };
    expect(recordedSnapshot(documents, outOfRounds, payloads).status).toBe("failed");
    expect(recordedCheckpoint(documents, outOfRounds).status).toBe("failed");
  });

  test("of a thread with refused params has no step", () => {
    const refused = { ...at(0), params: {}, status: "failed" };
    expect(recordedSnapshot(documents, refused, payloads)).toMatchObject({
      status: "failed",
      params: {},
    });
  });
});
