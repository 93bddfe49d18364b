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

test("an event is sent as the documented API has it, with its attempt and that attempt's path", async () => {
  const by = serializer();
  const attempt = "0123456789ABC";
  const path = [{ in: "Loop_A", child: "Set_A", iteration: 2 }];
  expect(await sent({ type: "attempt_start", attempt, payload: { role: "Set_A", path } }, by)).toBe(
    "",
  );
  const text = await sent({ attempt, payload: { value: 7 }, seq: 3 }, by);
  const [name, data, id] = text.split("\n");
  expect([name, id]).toEqual(["event: step_start", "id: 3"]);
  expect(JSON.parse(data?.slice(6) ?? "")).toEqual({ stepID: "Set_A", value: 7, attempt, path });
});

test("an event without an attempt is sent with its payload alone, and one of a tool with the run", async () => {
  const text = await sent({ type: "tool_start", payload: { name: "read" } });
  expect(text).toContain(`data: {"stepID":"Set_A","runID":"${ref.threadId}","name":"read"}\n`);
});
