import { expect, test } from "bun:test";
import { type EventRecord, openLocalHost } from "@uncaged/workflow/host";
import { runSerializer } from "./run-stream.ts";

const ref = { hash: "AAAA000000001", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
const serializer = () => runSerializer(openLocalHost({ path: "/nowhere" }), ref, null);
const record = (event: Partial<EventRecord>) => ({
  ...{ tag: "QK4DX8TM", content: "", timestamp: 1, type: "step_start", stepID: "Set_A" },
  ...{ payload: {}, seq: 1, step: 1, ...event },
});

async function sent(event: Partial<EventRecord>, by = serializer()): Promise<string> {
  const { bytes } = await by.message({ kind: "event", cursor: "c", event: record(event) }, ref);
  return new TextDecoder().decode(bytes);
}

test("an event is sent with its step and its payload, and a path in the payload is kept", async () => {
  const by = serializer();
  const attempt = "0123456789ABC";
  const path = [{ in: "Loop_A", child: "Set_A", iteration: 2 }];
  const start: Partial<EventRecord> = { type: "attempt_start", payload: { role: "Write_A", path } };
  expect(await sent({ ...start, attempt }, by)).toBe("");
  const text = await sent({ type: "file_start", attempt, payload: { path: "a.txt" }, seq: 3 }, by);
  const [name, data, id] = text.split("\n");
  expect([name, id]).toEqual(["event: file_start", "id: 3"]);
  expect(JSON.parse(data?.slice(6) ?? "")).toEqual({ stepID: "Set_A", path: "a.txt" });
});

test("events of types outside the documented API are not sent", async () => {
  for (const type of ["journal", "llm_start", "llm_usage", "llm_retry", "mine", "toString"]) {
    expect(await sent({ type, payload: { key: "k" } })).toBe("");
  }
});

test("an event of a tool has the run too", async () => {
  const text = await sent({ type: "tool_start", payload: { name: "read" } });
  expect(text).toContain(`data: {"stepID":"Set_A","runID":"${ref.threadId}","name":"read"}\n`);
});
