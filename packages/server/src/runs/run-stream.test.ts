import { expect, test } from "bun:test";
import type { EventRecord } from "@uncaged/workflow/host";
import { messageFor } from "./run-stream.ts";

const ref = { hash: "AAAA000000001", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };

const sent = (event: Partial<EventRecord>) =>
  messageFor(
    {
      ...{ tag: "QK4DX8TM", content: "", timestamp: 1, type: "step_start", stepID: "Set_A" },
      ...{ payload: {}, seq: 1, step: 1, ...event },
    },
    ref,
    { clientRunToken: "mine" },
  );

test("an event is sent with its step and its payload, and a path in the payload is kept", () => {
  const payload = { path: "a.txt" };
  const message = sent({ type: "file_start", attempt: "0123456789ABC", payload, seq: 3 });
  expect([message?.event, message?.id]).toEqual(["file_start", "3"]);
  expect(JSON.parse(message?.data ?? "")).toEqual({ stepID: "Set_A", path: "a.txt" });
});

test("events of types outside the documented API are not sent", () => {
  const types = ["attempt_start", "journal", "llm_start", "llm_usage", "llm_retry", "mine"];
  for (const type of [...types, "toString", "workflow_done"]) {
    expect(sent({ type, payload: { key: "k" } })).toBeNull();
  }
});

test("an event of a tool has the run and its token too", () => {
  const { data = "" } = sent({ type: "tool_start", payload: { name: "read" } }) ?? {};
  const run = { runID: ref.threadId, clientRunToken: "mine" };
  expect(JSON.parse(data)).toEqual({ stepID: "Set_A", ...run, name: "read" });
});
